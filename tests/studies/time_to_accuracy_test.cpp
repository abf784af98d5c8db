#include "studies/time_to_accuracy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::recipes {
namespace {

// Of tables in textbooks.
TEST(TimeToAccuracy, ChiSquareQuantilesAreThoseOfTables) {
  EXPECT_NEAR(chi_square_quantile(0.975, 4), 11.1433, 1e-4);
  EXPECT_NEAR(chi_square_quantile(0.025, 4), 0.484419, 1e-6);
  EXPECT_NEAR(chi_square_quantile(0.95, 1), 3.84146, 1e-5);
  EXPECT_NEAR(chi_square_quantile(0.5, 100), 99.3341, 1e-4);
}

TEST(TimeToAccuracy, SpreadHasAnIntervalAroundItsVariation) {
  const double values[] = {95, 100, 105, 98, 102};
  const Spread spread = spread_of(values);
  EXPECT_EQ(spread.count, 5);
  EXPECT_DOUBLE_EQ(spread.mean, 100);
  EXPECT_NEAR(*spread.deviation, std::sqrt(14.5), 1e-12);
  EXPECT_NEAR(*spread.cv, 0.0380789, 1e-6);
  // Small variations: that of the standard deviation, s sqrt((n-1) / chi2).
  EXPECT_NEAR(*spread.cv_low, *spread.cv * std::sqrt(4 / 11.1433), 2e-4);
  EXPECT_NEAR(*spread.cv_high, *spread.cv * std::sqrt(4 / 0.484419), 2e-3);
  const double one[] = {7};
  EXPECT_FALSE(spread_of(one).cv.has_value());
  EXPECT_EQ(spread_of({}).count, 0);
}

TEST(TimeToAccuracy, RunsThatNeverReachTheTargetAreCensored) {
  const TrainingLog fast{"fast", {{1, 10, 0.5}, {2, 20, 0.9}, {3, 30, 0.8}}};
  const TrainingLog slow{"slow", {{1, 10, 0.5}, {2, 20, 0.6}}};
  const TtaSummary summary = summarize({time_to(fast, 0.7), time_to(slow, 0.7)});
  EXPECT_EQ(summary.reached, 1);
  EXPECT_TRUE(summary.runs[0].reached);
  EXPECT_DOUBLE_EQ(summary.runs[0].seconds, 20);
  EXPECT_DOUBLE_EQ(summary.runs[0].epochs, 2);
  EXPECT_DOUBLE_EQ(summary.runs[0].best_top1, 0.9);
  EXPECT_FALSE(summary.runs[1].reached);
  EXPECT_DOUBLE_EQ(summary.runs[1].seconds, 20);
  EXPECT_DOUBLE_EQ(summary.seconds.mean, 20);
  EXPECT_FALSE(summary.seconds.cv.has_value());
  EXPECT_NE(message_of([] { time_to({"none", {}}, 0.5); }).find("no epoch"), std::string::npos);
}

TEST(TimeToAccuracy, ReadsLogsOfOthers) {
  const TemporaryFolder folder("logs");
  const auto write = [&](const char* name, const std::string& text) {
    write_file(folder.path() / name, text);
    return folder.path() / name;
  };
  const auto ours = read_training_logs(
      write("a.csv", "run,epoch,seconds,accuracy\n1,1,10,0.5\n2,1,12,0.6\n1,2,20,0.7\n"));
  ASSERT_EQ(ours.size(), 2U);
  EXPECT_EQ(ours[0].points.size(), 2U);
  EXPECT_DOUBLE_EQ(ours[0].points[1].accuracy, 0.7);
  // DAWNBench's form: tabs, hours and percent.
  const auto theirs =
      read_training_logs(write("b.tsv", "epoch\thours\ttop1Accuracy\n1\t0.5\t60\n2\t1\t94.1\n"));
  ASSERT_EQ(theirs.size(), 1U);
  EXPECT_DOUBLE_EQ(theirs[0].points[1].seconds, 3600);
  EXPECT_DOUBLE_EQ(theirs[0].points[1].accuracy, 0.941);
  const auto problem = [&](const std::string& text) {
    return message_of([&] { read_training_logs(write("bad.csv", text)); });
  };
  EXPECT_NE(problem("epoch,seconds\n1,2\n").find("no column accuracy"), std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n").find("no line"), std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n1,x,0.5\n").find("bad.csv"), std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n1,5,0.5\n2,4,0.6\n").find("backwards"),
            std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n1,-5,0.5\n")
                .find("field 'seconds': expected 0 or more, found '-5'"),
            std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n1,5,-0.5\n")
                .find("field 'accuracy': expected 0 or more, found '-0.5'"),
            std::string::npos);
  EXPECT_NE(problem("epoch,seconds,accuracy\n1,5,500\n").find("percent"), std::string::npos);
}

TEST(TimeToAccuracy, PublishedVariationsAreSharesWithSources) {
  for (const PublishedVariation& one : published_variations()) {
    EXPECT_GT(one.cv, 0) << one.entry;
    EXPECT_LT(one.cv, 0.2) << one.entry;
    EXPECT_FALSE(one.source.empty()) << one.entry;
  }
}

}  // namespace
}  // namespace trainyard::recipes
