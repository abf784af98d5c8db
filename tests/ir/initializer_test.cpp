#include "ir/initializer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "ir/graph.h"

namespace trainyard {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kMany = 1 << 20;

std::vector<float> draw(const InitRule& rule, int64_t first, int64_t count, int threads = 1) {
  std::vector<float> out(static_cast<size_t>(count));
  fill_range_by_rule(rule, kSeed, "w", first, out, threads);
  return out;
}

double moment(const std::vector<float>& values, int power) {
  double sum = 0;
  for (const float v : values) sum += std::pow(static_cast<double>(v), power);
  return sum / static_cast<double>(values.size());
}

TEST(Initializer, NormalNumbersHaveTheMomentsOfANormalDistribution) {
  const std::vector<float> values = draw({InitRule::Kind::kNormal, 1.0}, 0, kMany);
  // Five standard errors of each sample moment over 2^20 numbers.
  const double n = std::sqrt(static_cast<double>(kMany));
  EXPECT_NEAR(moment(values, 1), 0.0, 5 * 1.0 / n);
  EXPECT_NEAR(moment(values, 2), 1.0, 5 * std::sqrt(2.0) / n);
  EXPECT_NEAR(moment(values, 3), 0.0, 5 * std::sqrt(15.0) / n);
  EXPECT_NEAR(moment(values, 4), 3.0, 5 * std::sqrt(96.0) / n);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 4.5F);
}

TEST(Initializer, NormalNumbersFollowTheExactTransform) {
  const std::vector<float> values = draw({InitRule::Kind::kNormal, 1.0}, 0, 4096);
  const RandomStream stream(kSeed, hash_text("w"));
  // A few units in the last place of numbers up to 6.
  constexpr double kTolerance = 4e-6;
  for (size_t i = 0; i < values.size(); i += 2) {
    const uint64_t bits = stream.bits(i / 2);
    const double u = (static_cast<double>(bits >> 33) + 0.5) * 0x1.0p-31;
    const double angle = static_cast<double>(bits & 0x7fffffff) * 0x1.0p-31 * 2 * M_PI;
    const double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(values[i], radius * std::cos(angle), kTolerance) << "number " << i;
    ASSERT_NEAR(values[i + 1], radius * std::sin(angle), kTolerance) << "number " << i + 1;
  }
}

TEST(Initializer, UniformNumbersFillTheirRange) {
  const std::vector<float> values = draw({InitRule::Kind::kUniform, 0.5}, 0, kMany);
  const double n = std::sqrt(static_cast<double>(kMany));
  EXPECT_NEAR(moment(values, 1), 0.0, 5 * 0.5 / std::sqrt(3.0) / n);
  EXPECT_NEAR(moment(values, 2), 0.25 / 3, 5 * 0.25 * std::sqrt(4.0 / 45) / n);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -0.5F);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 0.5F);
}

TEST(Initializer, ThreadsAndPiecesDoNotMatter) {
  for (const auto kind : {InitRule::Kind::kNormal, InitRule::Kind::kUniform}) {
    const InitRule rule{kind, 0.1};
    const std::vector<float> whole = draw(rule, 0, kMany + 3);
    EXPECT_EQ(draw(rule, 0, kMany + 3, 2), whole);
    EXPECT_EQ(draw(rule, 0, kMany + 3, 3), whole);
    for (const int64_t first : {1, 2, 1023, 1025, 70001}) {
      const std::vector<float> piece = draw(rule, first, 2051);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + first)) << first;
    }
  }
}

// These bits must never change: weights drawn on different machines are compared.
TEST(Initializer, NumbersArePinned) {
  const auto hash_of = [](const InitRule& rule) {
    const std::vector<float> values = draw(rule, 0, 4096);
    return hash_text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  };
  EXPECT_EQ(hash_of({InitRule::Kind::kNormal, 1.0}), 3663666185890813679ULL);
  EXPECT_EQ(hash_of({InitRule::Kind::kUniform, 1.0}), 4022239117764980949ULL);
}

TEST(Initializer, ConstantsKeepTheirValueInEveryType) {
  Tensor big(DType::kI64, Shape{3});
  fill_by_rule(init_constant(16777217), kSeed, "w", big);
  EXPECT_EQ(to_ints(big), (std::vector<int64_t>{16777217, 16777217, 16777217}));
  Tensor half(DType::kF16, Shape{2});
  fill_by_rule(init_constant(0.5), kSeed, "w", half);
  EXPECT_EQ(element_as_double(half, 1), 0.5);
}

TEST(Initializer, DataIsSharedAndRulesAreFilled) {
  Graph graph;
  const auto data = std::make_shared<const Tensor>(Tensor::scalar(3.0F));
  const ValueId given = graph.add_initializer("given", data);
  const ValueId drawn = graph.add_initializer("w", {DType::kF32, {5}}, init_he_normal(2));
  EXPECT_EQ(initializer_data(graph.value(given), kSeed), data);
  const auto made = initializer_data(graph.value(drawn), kSeed);
  const std::vector<float> expected = draw(init_he_normal(2), 0, 5);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), made->values<float>().begin()));
}

}  // namespace
}  // namespace trainyard
