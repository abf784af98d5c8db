#include "data/subsets.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "data/class_balance.h"
#include "support/error_message.h"

namespace trainyard::data {
namespace {

constexpr const char* kTenClasses = "synthetic:1x8x8,classes=10,size=1000";

std::shared_ptr<const Dataset> ten_classes() {
  return open_dataset(kTenClasses, Split::kTrain);
}

std::map<int64_t, int64_t> counts_of(const Dataset& set, const std::vector<int64_t>& samples) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t sample : samples) ++counts[set.label(sample)];
  return counts;
}

TEST(Subsets, TakeTheSameShareOfEveryClassAndGrowBySamples) {
  const auto set = ten_classes();
  const std::vector<int64_t> few = choose_evenly(*set, 50, 3);
  const std::vector<int64_t> more = choose_evenly(*set, 500, 3);
  EXPECT_EQ(few.size(), 50U);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
  EXPECT_EQ(few, choose_evenly(*set, 50, 3));
  EXPECT_NE(few, choose_evenly(*set, 50, 4));
  for (const auto& [label, count] : counts_of(*set, few))
    EXPECT_NEAR(static_cast<double>(count), 5, 1) << label;
  EXPECT_NE(message_of([&] { choose_evenly(*set, 5, 1); }).find("without any"), std::string::npos);
  EXPECT_NE(message_of([&] { choose_evenly(*set, 1001, 1); }).find("1001 cannot be taken"),
            std::string::npos);
}

TEST(Subsets, LongTailsFallByTheirExponent) {
  const auto set = ten_classes();
  std::vector<int64_t> all(1000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const auto whole = counts_of(*set, all);
  const auto tail = counts_of(*set, choose_long_tail(*set, 1, 1));
  for (const auto& [label, count] : tail) {
    EXPECT_EQ(count,
              std::lround(static_cast<double>(whole.at(label)) / static_cast<double>(label + 1)));
  }
  EXPECT_EQ(choose_long_tail(*set, 0, 1).size(), 1000U);
  // Nobody is left out.
  EXPECT_EQ(counts_of(*set, choose_long_tail(*set, 9, 1)).size(), 10U);
}

TEST(Subsets, HoldOutTakesAShareOfEveryClass) {
  const auto set = ten_classes();
  const Parts parts = hold_out(*set, 0.1, 1);
  EXPECT_EQ(parts.kept.size() + parts.held_out.size(), 1000U);
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> both;
  std::merge(parts.kept.begin(), parts.kept.end(), parts.held_out.begin(), parts.held_out.end(),
             std::back_inserter(both));
  EXPECT_EQ(both, all) << "every sample is in one part";
  const auto whole = counts_of(*set, all);
  for (const auto& [label, count] : counts_of(*set, parts.held_out)) {
    EXPECT_EQ(count, std::lround(0.1 * static_cast<double>(whole.at(label)))) << label;
  }
  EXPECT_EQ(parts.held_out, hold_out(*set, 0.1, 1).held_out);
  EXPECT_NE(parts.held_out, hold_out(*set, 0.1, 2).held_out);
  // Both parts get a sample of a small class; one that is alone is learned from.
  const auto few = select_samples(set, choose_evenly(*set, 20, 1), "few");
  EXPECT_EQ(counts_of(*few, hold_out(*few, 0.01, 1).held_out).size(), 10U);
  EXPECT_EQ(counts_of(*few, hold_out(*few, 0.99, 1).kept).size(), 10U);
  const auto lonely = select_samples(set, {0}, "one sample");
  EXPECT_NE(message_of([&] { hold_out(*lonely, 0.5, 1); }).find("none can be held out"),
            std::string::npos);
}

TEST(Subsets, NoiseReplacesTheShareAskedForByOtherClasses) {
  const auto set = ten_classes();
  const auto noisy = with_label_noise(set, 0.3, 5);
  const auto again = with_label_noise(set, 0.3, 5);
  int64_t wrong = 0;
  for (int64_t i = 0; i < set->size(); ++i) {
    EXPECT_EQ(noisy->label(i), again->label(i));
    if (noisy->label(i) != set->label(i)) ++wrong;
  }
  EXPECT_NEAR(static_cast<double>(wrong), 300, 45);
  const auto all_wrong = with_label_noise(set, 1, 5);
  for (int64_t i = 0; i < set->size(); ++i) EXPECT_NE(all_wrong->label(i), set->label(i));
  const std::shared_ptr<const Dataset> single =
      open_dataset("synthetic:1x8x8,classes=1,size=10", Split::kTrain);
  EXPECT_NE(message_of([&] { with_label_noise(single, 0.1, 1); }).find("one class"),
            std::string::npos);
}

TEST(ClassBalance, DealsOutEverythingInProportion) {
  EXPECT_EQ(deal_out(10, {1, 1, 2}), (std::vector<int64_t>{3, 2, 5}));
  EXPECT_EQ(deal_out(7, {0, 1}), (std::vector<int64_t>{0, 7}));
  EXPECT_NE(message_of([] { parse_balance("squrt"); }).find("sqrt"), std::string::npos);
}

TEST(ClassBalance, AnEpochTakesClassesAsAsked) {
  const auto set = ten_classes();
  const std::shared_ptr<const Dataset> tail =
      select_samples(set, choose_long_tail(*set, 2, 1), "tail");
  EXPECT_TRUE(balanced_groups(*tail, Balance::kNatural).empty());
  for (const Balance balance : {Balance::kUniform, Balance::kSqrt}) {
    Sampler sampler(
        {.batch = tail->size(), .shuffle = true, .groups = balanced_groups(*tail, balance)});
    std::map<int64_t, int64_t> counts;
    std::vector<int64_t> seen;
    for (const int64_t epoch : {0, 1}) {
      sampler.start_epoch(epoch);
      for (const int64_t sample : sampler.samples(0)) {
        ++counts[tail->label(sample)];
        seen.push_back(sample);
      }
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), 2 * tail->size());
    if (balance == Balance::kUniform) {
      EXPECT_NEAR(static_cast<double>(counts[0]), static_cast<double>(counts[9]), 4);
    } else {
      EXPECT_GT(counts[0], 2 * counts[9]);
      EXPECT_LT(counts[0], 50 * counts[9]);
    }
  }
}

}  // namespace
}  // namespace trainyard::data
