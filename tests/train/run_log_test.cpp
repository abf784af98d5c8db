// Where a run stands: the best epoch, the target, what a resumed run remembers.
#include "train/run_log.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/file.h"
#include "models/model_notes.h"
#include "support/temporary_folder.h"

namespace trainyard::train {
namespace {

std::vector<runs::StateTensor> one_state() {
  return {{"w", {DType::kF32, {2}}, [] { return Tensor::zeros({DType::kF32, {2}}); }}};
}

EpochReport epoch_with(std::string_view name, double value, bool higher_is_better) {
  EpochReport report;
  report.test.scores = {{.name = std::string(name), .value = value, .is_share = higher_is_better}};
  report.test.decides = name;
  report.test.higher_is_better = higher_is_better;
  return report;
}

void end_run_log_epoch(RunLog& log, EpochReport report) {
  report.step = log.info().step;
  log.end_epoch(std::move(report), one_state);
}

class RunLogTest : public ::testing::Test {
 protected:
  RunLogTest() {
    config_.epochs = 10;
    hooks_.on_epoch = [this](const EpochReport& report) { best_.push_back(report.best); };
  }

  std::unique_ptr<RunLog> begun() {
    auto log = std::make_unique<RunLog>(config_, "hash", &directory_, hooks_);
    const runs::NamedType types[] = {{"w", {DType::kF32, {2}}}};
    log->restore(types);
    log->begin();
    return log;
  }

  TrainConfig config_;
  TrainHooks hooks_;
  std::vector<bool> best_;
  TemporaryFolder folder_{"run_log"};
  runs::RunDirectory directory_ = runs::RunDirectory::create(folder_.path(), "a", "m", "d");
};

TEST_F(RunLogTest, TheBestIsTheHighestShareOrTheLowestLoss) {
  {
    const auto log = begun();
    for (const double top1 : {0.5, 0.4, 0.6}) {
      log->info().step += 1;
      end_run_log_epoch(*log, epoch_with("top1", top1, true));
    }
    EXPECT_EQ(best_, (std::vector<bool>{true, false, true}));
    EXPECT_EQ(log->info().epoch, 3);
    EXPECT_EQ(log->result().best->value, 0.6);
  }
  best_.clear();
  const auto again = begun();  // from the checkpoint
  EXPECT_EQ(again->info().epoch, 3);
  again->info().step += 1;
  end_run_log_epoch(*again, epoch_with("top1", 0.55, true));
  // Another score starts its own comparison; less of it is better.
  for (const double loss : {2.0, 3.0, 1.0}) {
    again->info().step += 1;
    end_run_log_epoch(*again, epoch_with("loss", loss, false));
  }
  EXPECT_EQ(best_, (std::vector<bool>{false, true, false, true}));
  EXPECT_NE(read_file(directory_.metrics()).find("\"test_loss\":1"), std::string::npos);
}

TEST_F(RunLogTest, PatienceCountsEpochsSinceTheBestAlsoWhenResumed) {
  config_.patience = 2;
  config_.export_weights = "best";
  const auto run_epochs = [&](RunLog& log, std::initializer_list<double> scores) {
    for (const double top1 : scores) {
      EXPECT_TRUE(log.goes_on());
      log.info().step += 1;
      end_run_log_epoch(log, epoch_with("top1", top1, true));
    }
  };
  {
    const auto log = begun();
    run_epochs(*log, {0.4, 0.5, 0.45});
    EXPECT_TRUE(log->goes_on());
  }
  const auto again = begun();
  run_epochs(*again, {0.45});
  EXPECT_FALSE(again->goes_on());
  EXPECT_NE(network::weights_of(again->metadata()).find("after step 2 (epoch 2), the best of 4"),
            std::string::npos);
  EXPECT_EQ(again->exported_checkpoint()->filename(), "step-000002.safetensors");
  const TrainResult result = again->result();
  EXPECT_TRUE(result.out_of_patience);
  EXPECT_TRUE(result.exports_best);
  EXPECT_EQ(result.best_epoch, 2);
  EXPECT_EQ(result.best->value, 0.5);
}

TEST_F(RunLogTest, StopsAtAnEpochAndGoesOn) {
  config_.stop_epoch = 1;
  {
    const auto log = begun();
    log->info().step += 1;
    end_run_log_epoch(*log, epoch_with("top1", 0.5, true));
    EXPECT_FALSE(log->goes_on());
  }
  config_.stop_epoch = 3;
  EXPECT_TRUE(begun()->goes_on());
}

TEST_F(RunLogTest, EndsWithTheTargetTheStepsOrTheEpochs) {
  config_.target_accuracy = 0.9;
  config_.max_steps = 2;
  const auto log = begun();
  EXPECT_TRUE(log->goes_on());
  log->info().step = 2;
  EXPECT_FALSE(log->goes_on());
  log->info().step = 1;
  // A loss is no accuracy, however large.
  end_run_log_epoch(*log, epoch_with("loss", 2, false));
  EXPECT_TRUE(log->goes_on());
  end_run_log_epoch(*log, epoch_with("top1", 0.95, true));
  EXPECT_FALSE(log->goes_on());
  EXPECT_TRUE(log->result().seconds_to_target.has_value());
}

TEST_F(RunLogTest, AFinishedRunStillKnowsItsBest) {
  {
    const auto log = begun();
    log->info().step = 1;
    end_run_log_epoch(*log, epoch_with("top1", 0.7, true));
  }
  const TrainResult result = begun()->result();
  ASSERT_TRUE(result.best.has_value());
  EXPECT_EQ(*result.best, (Score{.name = "top1", .value = 0.7, .is_share = true}));
  EXPECT_EQ(result.steps, 1);
}

}  // namespace
}  // namespace trainyard::train
