#include "base/random.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Random, TheNthNumberDependsOnSeedKeyAndIndexAlone) {
  const RandomStream a(1, hash_text("w"));
  EXPECT_EQ(a.bits(5), RandomStream(1, hash_text("w")).bits(5));
  EXPECT_NE(a.bits(5), a.bits(6));
  EXPECT_NE(a.bits(5), RandomStream(2, hash_text("w")).bits(5));
  EXPECT_NE(a.bits(5), RandomStream(1, hash_text("v")).bits(5));
}

TEST(Random, MomentsAreThoseOfTheDistributions) {
  constexpr int kCount = 200000;
  // Four standard errors of the mean at this count.
  constexpr double kTolerance = 4.0 / 447.0;
  const RandomStream stream(7);
  double uniform = 0;
  double normal = 0;
  double square = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    uniform += stream.uniform(i);
    const double x = stream.normal(i);
    normal += x;
    square += x * x;
    ASSERT_LT(stream.below(i, 10), 10U);
  }
  EXPECT_NEAR(uniform / kCount, 0.5, kTolerance);
  EXPECT_NEAR(normal / kCount, 0.0, kTolerance);
  EXPECT_NEAR(square / kCount, 1.0, 2 * kTolerance);
}

}  // namespace
}  // namespace trainyard
