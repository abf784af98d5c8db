// `trainyard evaluate`: a run is judged as its training judged it, and what does not fit is named.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

// 64 pictures to train with and 12 to test.
constexpr const char* kJudgedData = "synthetic:1x28x28,classes=4,size=64";

class EvaluateRun : public testing::Test {
 protected:
  // One run for all tests: lenet5, one epoch with an augmentation that is random.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder("evaluate_cli");
    const Outcome trained =
        run({"train", "--model", "lenet5", "--data", kJudgedData, "--epochs", "2", "--batch", "16",
             "--augment", "crop:2,normalize", "--runs-dir", folder_->path(), "--name", "one",
             "--quiet", "--json"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    epoch_ = Json::parse(trained.out, "train").at("epochs").items().back();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run_path() { return *folder_ / "one"; }

  static TemporaryFolder* folder_;
  static Json epoch_;
};

TemporaryFolder* EvaluateRun::folder_ = nullptr;
Json EvaluateRun::epoch_;

Json evaluation_json(std::vector<std::string> words) {
  words.insert(words.begin(), "evaluate");
  words.insert(words.end(), {"--quiet", "--json"});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Json::parse(outcome.out, "evaluate");
}

TEST_F(EvaluateRun, ARunScoresWhatItsTrainingSaid) {
  const Json test = evaluation_json({run_path(), "--data", kJudgedData});
  EXPECT_EQ(test.at("images").as_int(), 12);
  EXPECT_EQ(test.at("top1").as_number(), epoch_.at("top1").as_number());
  EXPECT_EQ(test.at("top5").as_number(), 1);
  EXPECT_NEAR(test.at("loss").as_number(), epoch_.at("test_loss").as_number(), 1e-5);
  EXPECT_GE(test.at("calibration_error").as_number(), 0);
  EXPECT_LE(test.at("calibration_error").as_number(), 1);
  EXPECT_GT(test.at("images_per_s").as_number(), 0);
  EXPECT_EQ(test.at("weights").as_string(), "given");
  EXPECT_EQ(test.at("preprocessing").as_string().find("crop"), std::string::npos);
}

TEST_F(EvaluateRun, WithoutDataThatOfTheRunIsTaken) {
  for (const std::string& model : {run_path(), run_path() + "/model.onnx"}) {
    const Json test = evaluation_json({model});
    EXPECT_EQ(test.at("images").as_int(), 12);
    EXPECT_EQ(test.at("top1").as_number(), epoch_.at("top1").as_number());
    EXPECT_EQ(test.at("data_from").as_string(), "run");
  }
  const Outcome outcome = run({"evaluate", run_path(), "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(std::string("the data of the run, ") + kJudgedData), std::string::npos)
      << outcome.out;
}

TEST_F(EvaluateRun, ClassesAddUpToTheWhole) {
  const Json test =
      evaluation_json({run_path(), "--data", kJudgedData, "--split", "train", "--batch", "24"});
  int64_t images = 0;
  int64_t correct = 0;
  ASSERT_EQ(test.at("classes").items().size(), 4U);
  for (const Json& entry : test.at("classes").items()) {
    images += entry.at("images").as_int();
    correct += entry.at("correct").as_int();
    EXPECT_FALSE(entry.at("name").as_string().empty());
  }
  EXPECT_EQ(images, 64);
  EXPECT_DOUBLE_EQ(static_cast<double>(correct) / 64, test.at("top1").as_number());
  int64_t diagonal = 0;
  for (size_t i = 0; i < 4; ++i) {
    diagonal += test.at("confusion").items()[i].items()[i].as_int();
  }
  EXPECT_EQ(diagonal, correct);
}

TEST_F(EvaluateRun, TheWeightsAloneScoreTheSame) {
  const std::string weights = run_path() + "/model.safetensors";
  const Json test = evaluation_json({"lenet5", "--weights", weights, "--data", kJudgedData});
  EXPECT_EQ(test.at("top1").as_number(), epoch_.at("top1").as_number());
  const Json fresh = evaluation_json({"lenet5", "--data", kJudgedData});
  EXPECT_EQ(fresh.at("weights").as_string(), "random");
}

TEST_F(EvaluateRun, TheTableNamesEveryClass) {
  const Outcome outcome = run({"evaluate", run_path(), "--data", kJudgedData, "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* word : {"top-1", "calibration error", "recall", "precision", "taken for"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  }
}

// As 'run' and 'serve' do.
TEST_F(EvaluateRun, PicturesOfAnotherSizeAreBroughtToThatOfTheRun) {
  const Outcome outcome = run({"evaluate", run_path(), "--data",
                               "synthetic:1x32x32,classes=4,size=64", "--quiet", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = Json::parse(outcome.out, "evaluate");
  EXPECT_EQ(data.at("preprocessing").as_string().find("resize:28x28"), 0U) << outcome.out;
  EXPECT_NE(data.at("weights_of").as_string().find("the last"), std::string::npos);
}

TEST_F(EvaluateRun, WhatDoesNotFitIsNamed) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{run_path(), "--data", "synthetic:1x28x28,classes=7,size=64"}, "outside the network's 4"},
      {{run_path(), "--data", "synthetic:1x32x32,classes=4,size=64", "--augment", "normalize"},
       "the network takes"},
      {{run_path(), "--data", kJudgedData, "--classes", "4"}, "is a file"},
      {{run_path(), "--data", kJudgedData, "--batch", "0"}, "--batch is 0"},
      {{run_path(), "--data", kJudgedData, "--split", "val"}, "test"},
      {{"lenet6", "--data", kJudgedData}, "lenet5"},
      {{"lenet5-wide", "--data", "synthetc"}, "synthetic"},
  };
  for (const auto& [words, expected] : cases) {
    std::vector<std::string> all = {"evaluate", "--quiet"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace trainyard::cli
