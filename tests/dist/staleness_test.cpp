#include "dist/staleness.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::dist {
namespace {

std::vector<int64_t> of_learner(const std::vector<GradientEvent>& events, int64_t learner) {
  std::vector<int64_t> result;
  for (const GradientEvent& event : events) {
    if (event.learner == learner) result.push_back(event.staleness);
  }
  return result;
}

using Times = std::vector<std::vector<double>>;

TEST(Staleness, CountsUpdatesBetweenReadAndWrite) {
  const auto events = gradient_staleness(Times{{1, 2, 3, 4}, {2.5, 5}});
  EXPECT_EQ(of_learner(events, 1), (std::vector<int64_t>{0, 0, 1, 0}));
  EXPECT_EQ(of_learner(events, 2), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(events[2].time, 2.5);
  EXPECT_EQ(events.back().read_time, 2.5);
}

TEST(Staleness, AloneALearnerIsNeverStale) {
  const auto events = gradient_staleness(Times{{0.5, 1, 7}});
  EXPECT_EQ(of_learner(events, 1), (std::vector<int64_t>{0, 0, 0}));
}

// n learners in step: each gradient but the first round's waits for the n-1 others.
TEST(Staleness, EqualTimesAreAppliedInTheOrderOfLearners) {
  const auto events = gradient_staleness(Times{{1, 2}, {1, 2}, {1, 2}});
  EXPECT_EQ(of_learner(events, 1), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(of_learner(events, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(of_learner(events, 3), (std::vector<int64_t>{2, 2}));
}

TEST(Staleness, RefusesTimesThatDoNotIncrease) {
  EXPECT_THROW(gradient_staleness(Times{{1, 1}}), Error);
  EXPECT_THROW(gradient_staleness(Times{{2, 1}}), Error);
  EXPECT_THROW(gradient_staleness(Times{{0, 1}}), Error);
  EXPECT_THROW(gradient_staleness(Times{{1, std::numeric_limits<double>::infinity()}}), Error);
  EXPECT_THROW(gradient_staleness(Times{{}}), Error);
}

}  // namespace
}  // namespace trainyard::dist
