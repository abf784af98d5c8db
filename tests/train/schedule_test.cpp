#include "train/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard::train {
namespace {

// A few roundings of double arithmetic.
constexpr double kRateTolerance = 1e-12;

double rate(std::string_view schedule, double epoch) {
  return learning_rate(parse_schedule(schedule), 0.5, epoch, 30);
}

TEST(Schedule, Constant) {
  EXPECT_EQ(rate("constant", 0), 0.5);
  EXPECT_EQ(rate("constant", 29.9), 0.5);
}

TEST(Schedule, FallsAtTheMilestoneAndNotBefore) {
  EXPECT_EQ(rate("multistep:15,25", 14.999), 0.5);
  EXPECT_NEAR(rate("multistep:15,25", 15), 0.05, kRateTolerance);
  EXPECT_NEAR(rate("multistep:15,25", 25), 0.005, kRateTolerance);
  EXPECT_NEAR(rate("multistep:15,25;gamma=0.5", 29), 0.125, kRateTolerance);
  EXPECT_EQ(rate("step:10", 9.99), 0.5);
  EXPECT_NEAR(rate("step:10;gamma=0.2", 20), 0.02, kRateTolerance);
}

TEST(Schedule, CosineAndPolynomialReachTheirEnd) {
  EXPECT_NEAR(rate("cosine", 0), 0.5, kRateTolerance);
  EXPECT_NEAR(rate("cosine", 15), 0.25, kRateTolerance);
  EXPECT_NEAR(rate("cosine", 30), 0, kRateTolerance);
  EXPECT_NEAR(rate("cosine;end=0.1", 30), 0.05, kRateTolerance);
  EXPECT_NEAR(rate("polynomial", 6), 0.4, kRateTolerance);
  EXPECT_NEAR(rate("polynomial;power=2", 15), 0.125, kRateTolerance);
  EXPECT_NEAR(rate("polynomial;power=2;end=0.2", 30), 0.1, kRateTolerance);
}

TEST(Schedule, WarmUpRisesInFrontOfAnyAndMeetsIt) {
  for (const char* name : {"constant", "step:10", "multistep:15,25", "cosine", "polynomial"}) {
    const std::string text = std::string(name) + ";warmup=5;warmup_from=0.2";
    EXPECT_NEAR(rate(text, 0), 0.1, kRateTolerance) << text;
    EXPECT_NEAR(rate(text, 2.5), 0.3, kRateTolerance) << text;
    EXPECT_NEAR(rate(text, 5), 0.5, kRateTolerance) << text;
  }
  // The curve begins where the warm-up ends.
  EXPECT_NEAR(rate("cosine;warmup=10", 20), 0.25, kRateTolerance);
  EXPECT_NEAR(rate("multistep:15;warmup=5", 15), 0.05, kRateTolerance);
  // A run that ends within its warm-up.
  EXPECT_NEAR(rate("cosine;warmup=60;warmup_from=0", 30), 0.25, kRateTolerance);
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const Schedule cycle = parse_schedule("onecycle;rise=0.25;start=0.1;end=0.01");
  const auto at = [&](double epoch) { return learning_rate(cycle, 2, epoch, 40); };
  EXPECT_NEAR(at(0), 0.2, 1e-12);
  EXPECT_NEAR(at(5), 1.1, 1e-12) << "half of the rise";
  EXPECT_NEAR(at(10), 2, 1e-12);
  EXPECT_NEAR(at(25), 1.01, 1e-12) << "half of the fall";
  EXPECT_NEAR(at(40), 0.02, 1e-12);
  EXPECT_GT(at(10), at(9.9));
  EXPECT_NEAR(learning_rate(parse_schedule("onecycle"), 1, 3, 10), 1, 1e-12);
}

TEST(Schedule, WsdStaysAndFallsAtTheEnd) {
  const Schedule wsd = parse_schedule("wsd;decay=0.2;end=0.1;warmup=2;warmup_from=0");
  const auto at = [&](double epoch) { return learning_rate(wsd, 1, epoch, 20); };
  EXPECT_NEAR(at(1), 0.5, 1e-12);
  EXPECT_NEAR(at(2), 1, 1e-12);
  EXPECT_NEAR(at(16), 1, 1e-12);
  EXPECT_NEAR(at(18), 0.55, 1e-12);
  EXPECT_NEAR(at(20), 0.1, 1e-12);
  EXPECT_EQ(learning_rate(parse_schedule("wsd;decay=0"), 1, 20, 20), 1);
}

TEST(Schedule, ScalesWithTheBatch) {
  EXPECT_NEAR(scale_with_batch(0.1, 1024, 256), 0.4, kRateTolerance);
  EXPECT_NEAR(scale_with_batch(0.1, 64, 256), 0.025, kRateTolerance);
  EXPECT_THROW(scale_with_batch(0.1, 0, 256), Error);
}

TEST(Schedule, SaysWhatIsWrong) {
  const auto problem = [](std::string_view text) {
    return message_of([&] { parse_schedule(text); });
  };
  const auto has = [&](std::string_view text, std::string_view part) {
    EXPECT_NE(problem(text).find(part), std::string::npos) << text << ": " << problem(text);
  };
  has("cosin", "Did you mean cosine?");
  has("multi-step:3", "Did you mean multistep?");
  has("cosine;gamma=2", "cosine has no setting 'gamma'");
  has("cosine;warmupp=2", "Did you mean warmup?");
  has("cosine;end", "expected end=number");
  has("cosine;end=x", "found 'x'");
  has("step:30;gamma=-1", "found '-1'");
  has("step", "as in step:30");
  has("step:0", "as in step:30");
  has("multistep:20,10", "rising epochs");
  has("multistep:", "found ''");
  has("cosine:3", "takes no epochs");
  has("onecycle;warmup=3", "onecycle has no setting 'warmup'");
  has("wsd;decay=2", "at most 1");
  has("", "no learning-rate schedule ''");
}

}  // namespace
}  // namespace trainyard::train
