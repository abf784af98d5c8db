#include "cluster/schedule/speed/nnls.h"

#include <cmath>

#include <gtest/gtest.h>

namespace trainyard::schedule {
namespace {

TEST(NonNegativeLeastSquares, FindsWhatMadeTheRows) {
  // b = 2 x + 3 y, and a third column of other directions that is not needed.
  const std::vector<double> rows = {1, 0, 1, 0, 1, 5, 1, 1, 2, 2, 1, 7};
  const std::vector<double> x =
      non_negative_least_squares(rows, std::vector<double>{2, 3, 5, 7}, 3);
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_NEAR(x[1], 3, 1e-12);
  EXPECT_NEAR(x[2], 0, 1e-12);
}

TEST(NonNegativeLeastSquares, LeavesOutAColumnThatWouldBeNegative) {
  // Unbounded: 3 x - 1 y. With y at 0 the best x is the mean of the wanted, (3 + 2) / 2.
  const std::vector<double> x =
      non_negative_least_squares(std::vector<double>{1, 0, 1, 1}, std::vector<double>{3, 2}, 2);
  EXPECT_NEAR(x[0], 2.5, 1e-12);
  EXPECT_EQ(x[1], 0);
}

TEST(NonNegativeLeastSquares, TakesOneOfTwoColumnsThatDependOnEachOther) {
  const std::vector<double> x = non_negative_least_squares(
      std::vector<double>{1, 1e6, 2, 2e6, 3, 3e6}, std::vector<double>{2, 4, 6}, 2);
  EXPECT_NEAR(x[0] + 1e6 * x[1], 2, 1e-12);
  EXPECT_EQ(x[0] * x[1], 0);
}

TEST(NonNegativeLeastSquares, KeepsDigitsWhenColumnsAreNearlyAlike) {
  // Läuchli's matrix: the normal equations lose it below 1e-8.
  const double small = 1e-7;
  const std::vector<double> rows = {1, 1, small, 0, 0, small};
  const std::vector<double> x =
      non_negative_least_squares(rows, std::vector<double>{3, small, 2 * small}, 2);
  EXPECT_NEAR(x[0], 1, 1e-6);
  EXPECT_NEAR(x[1], 2, 1e-6);
}

TEST(Information, IsTheLogarithmOfTheDeterminant) {
  // A'A = {{5, 11}, {11, 25}}; 1 more on its diagonal: 6 * 26 - 121 = 35.
  EXPECT_NEAR(information(std::vector<double>{1, 3, 2, 4}, 2, 1), std::log(35), 1e-12);
}

}  // namespace
}  // namespace trainyard::schedule
