#include "quant/histogram.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/kernels/parallel/parallel.h"
#include "quant/choose_range.h"

namespace trainyard::quant {
namespace {

std::vector<float> normal_numbers(size_t count, float scale) {
  const RandomStream random(7);
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = scale * static_cast<float>(random.normal(i));
  return numbers;
}

std::vector<int64_t> counts_of(const Histogram& histogram) {
  std::vector<int64_t> counts;
  for (const Histogram::Bin& bin : histogram.bins()) counts.push_back(bin.count);
  return counts;
}

TEST(Histogram, DoesNotDependOnHowManyComeAtOnce) {
  // Growing values make the bins wider on the way.
  std::vector<float> numbers = normal_numbers(3000, 1.0F);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= 0.001F * static_cast<float>(i + 1);
  Histogram at_once;
  at_once.add(numbers);
  for (const size_t batch : {1, 7, 128, 1024}) {
    Histogram in_parts;
    for (size_t i = 0; i < numbers.size(); i += batch) {
      in_parts.add(std::span(numbers).subspan(i, std::min(batch, numbers.size() - i)));
    }
    EXPECT_EQ(counts_of(in_parts), counts_of(at_once)) << batch;
    EXPECT_EQ(in_parts.sigma(), at_once.sigma());
    EXPECT_EQ(in_parts.quantile(0.999), at_once.quantile(0.999));
  }
}

TEST(Histogram, DoesNotDependOnTheNumberOfThreads) {
  std::vector<float> numbers = normal_numbers(200'003, 3.0F);
  numbers[77'777] = -40;
  Histogram alone;
  kernels::set_threads(1);
  alone.add(numbers);
  for (const int threads : {2, 3, 8}) {
    kernels::set_threads(threads);
    Histogram shared;
    shared.add(numbers);
    EXPECT_EQ(counts_of(shared), counts_of(alone)) << threads;
    EXPECT_EQ(shared.min(), -40);
    EXPECT_EQ(shared.max(), alone.max());
  }
  numbers[5] = std::numeric_limits<float>::infinity();
  numbers[199'999] = std::numeric_limits<float>::quiet_NaN();
  Histogram spoilt;
  spoilt.add(numbers);
  kernels::set_threads(1);
  EXPECT_EQ(spoilt.bad(), 2);
  EXPECT_EQ(spoilt.count(), 200'001);
  EXPECT_EQ(spoilt.min(), -40);
}

TEST(Histogram, TellsMomentsAndQuantiles) {
  Histogram histogram;
  histogram.add(normal_numbers(100'000, 2.0F));
  EXPECT_NEAR(histogram.mean(), 0, 0.03);
  EXPECT_NEAR(histogram.sigma(), 2, 0.03);
  EXPECT_NEAR(histogram.quantile(0.5), 0, 0.03);
  EXPECT_NEAR(histogram.quantile(0.975), 2 * 1.96, 0.06);
  EXPECT_NEAR(static_cast<double>(histogram.outside(-4, 4)), 4550, 300);
  EXPECT_EQ(histogram.quantile(0), histogram.min());
}

TEST(Histogram, MergesOthersOfOtherWidths) {
  const std::vector<float> small = normal_numbers(500, 0.01F);
  const std::vector<float> large = normal_numbers(500, 100.0F);
  Histogram joined;
  joined.add(small);
  joined.add(large);
  for (const bool small_first : {true, false}) {
    Histogram a;
    Histogram b;
    a.add(small_first ? small : large);
    b.add(small_first ? large : small);
    a.merge(b);
    EXPECT_EQ(counts_of(a), counts_of(joined));
    EXPECT_EQ(a.max(), joined.max());
  }
}

TEST(Histogram, CountsWhatIsNoNumberApart) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {1.0F, inf, std::nanf(""), -2.0F, -inf};
  Histogram histogram;
  histogram.add(numbers);
  EXPECT_EQ(histogram.bad(), 3);
  EXPECT_EQ(histogram.count(), 2);
  EXPECT_EQ(histogram.min(), -2.0);
  EXPECT_EQ(histogram.max(), 1.0);
}

TEST(Histogram, TakesZerosAndTheLeastAndLargestFloats) {
  Histogram histogram;
  histogram.add(std::vector<float>{0, 0, 0});
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.bins().size(), 1U);
  histogram.add(std::vector<float>{std::numeric_limits<float>::denorm_min(),
                                   std::numeric_limits<float>::max(),
                                   std::numeric_limits<float>::lowest()});
  EXPECT_EQ(histogram.count(), 6);
  EXPECT_EQ(histogram.max(), double{std::numeric_limits<float>::max()});
}

TEST(ChooseRange, EveryMethodDrawsInAnOutlierButMinMax) {
  std::vector<float> numbers = normal_numbers(200'000, 1.0F);
  numbers[17] = 60;
  Histogram histogram;
  histogram.add(numbers);
  EXPECT_EQ(choose_range(histogram, {.method = Calibration::kMinMax}).high, 60);
  // With few steps each is dear.
  constexpr int64_t kBits = 4;
  const auto sqnr = [&](Range range) {
    return rounding_sqnr_db(histogram, steps_for(range, kBits, false));
  };
  for (const Calibration method :
       {Calibration::kPercentile, Calibration::kEntropy, Calibration::kMse}) {
    const Range range = choose_range(histogram, {.method = method, .bits = kBits});
    EXPECT_LT(range.high, 30) << static_cast<int>(method);
    EXPECT_GT(range.high, 2) << static_cast<int>(method);
    EXPECT_LT(range.low, -1.5) << static_cast<int>(method);
    EXPECT_GT(sqnr(range), sqnr({histogram.min(), 60}) + 10) << static_cast<int>(method);
  }
  const double best = sqnr(choose_range(histogram, {.method = Calibration::kMse, .bits = kBits}));
  for (const double high : {2.0, 3.0, 4.0, 10.0, 60.0}) {
    EXPECT_GE(best + 0.5, sqnr({-3, high})) << high;
  }
}

TEST(ChooseRange, EntropyIsNotMisledByTheZerosOfARelu) {
  std::vector<float> numbers = normal_numbers(200'000, 1.0F);
  for (float& x : numbers) x = std::max(x, 0.0F);
  Histogram histogram;
  histogram.add(numbers);
  const Range range = choose_range(histogram, {.method = Calibration::kEntropy});
  EXPECT_GT(range.high, 2.5);
  EXPECT_GT(rounding_sqnr_db(histogram, steps_for(range, 8, false)), 30);
}

TEST(ChooseRange, SymmetricRangesAreDrawnInFromBothEnds) {
  std::vector<float> numbers = normal_numbers(50'000, 1.0F);
  numbers[3] = -40;
  Histogram histogram;
  histogram.add(numbers);
  const Range range =
      choose_range(histogram, {.method = Calibration::kMse, .bits = 4, .symmetric = true});
  EXPECT_EQ(range.low, -range.high);
  EXPECT_LT(range.high, 30);
}

}  // namespace
}  // namespace trainyard::quant
