#include "tensor/half.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tensor/tensor.h"

namespace trainyard {
namespace {

TEST(Half, ConvertsAndRoundsToNearest) {
  EXPECT_EQ(static_cast<float>(F16(1.5)), 1.5F);
  EXPECT_EQ(static_cast<float>(F16(2049)), 2048.0F);  // ties go to the even neighbor
  EXPECT_EQ(static_cast<float>(BF16(257)), 256.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(F16(70000.0F))));
}

TEST(Half, LimitsBoundEveryElement) {
  EXPECT_GT(std::numeric_limits<F16>::max(), F16(65504.0F));
  EXPECT_LT(std::numeric_limits<BF16>::lowest(), BF16(-3e38F));
}

TEST(Cast, ClampsFloatsToIntegersAndWrapsIntegers) {
  const Tensor floats = Tensor::of<float>({3}, std::array{300.0F, -1.0F, std::nanf("")});
  EXPECT_EQ(to_ints(cast(floats, DType::kU8)), (std::vector<int64_t>{255, 0, 0}));
  const Tensor whole = Tensor::of<int32_t>({2}, std::array{300, -1});
  EXPECT_EQ(to_ints(cast(whole, DType::kU8)), (std::vector<int64_t>{44, 255}));
  EXPECT_EQ(element_as_double(cast(floats, DType::kF16), 0), 300.0);
}

}  // namespace
}  // namespace trainyard
