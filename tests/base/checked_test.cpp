#include "base/checked.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {
namespace {

TEST(Checked, CountsWithinSixtyFourBits) {
  EXPECT_EQ(checked_product({3, 0, INT64_MAX}), 0);
  EXPECT_EQ(checked_product({int64_t{1} << 30, int64_t{1} << 29}), int64_t{1} << 59);
  EXPECT_THROW(checked_product({int64_t{1} << 30, int64_t{1} << 30}), Error);
  EXPECT_THROW(checked_product({INT64_MAX, INT64_MAX, 4}), Error);
  int64_t sum = 1;
  checked_add(sum, (int64_t{1} << 62) - 1);
  EXPECT_THROW(checked_add(sum, 1), Error);
}

}  // namespace
}  // namespace trainyard
