#include "cluster/predict/measurements.h"

#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "cluster/predict/stacks_yaml.h"
#include "cluster/predict/validate.h"
#include "models/zoo/model.h"
#include "support/error_message.h"

namespace trainyard::predict {
namespace {

constexpr const char* kHeader =
    "source,framework,mode,device,gpus,gpus_per_host,network,model,batch_per_gpu,precision,comm,"
    "images_per_s,note\n";

std::vector<Measurement> read(const std::string& rows) {
  return read_measurements(kHeader + rows, "m.csv");
}

TEST(Measurements, EveryPublishedRowIsReadAndCited) {
  const std::vector<Measurement> rows = published_measurements();
  EXPECT_GT(rows.size(), 800u);
  for (const Measurement& row : rows) EXPECT_FALSE(row.source.empty()) << row.origin;
}

TEST(Measurements, WrongFieldsAreNamed) {
  EXPECT_EQ(message_of([] { read("me,torch,train,k80,1,1,,vgg16,1,fp32,,5,\n"); }),
            "m.csv:2: field 'mode': expected training or inference, found 'train'");
  EXPECT_EQ(message_of([] { read("me,torch,training,k80,0,1,,vgg16,1,fp32,,5,\n"); }),
            "m.csv:2: field 'gpus': expected 1 or more, found 0");
  EXPECT_NE(message_of([] {
              read("me,torch,training,k80,1,1,,vgg16,1,fp31,,5,\n");
            }).find("field 'precision'"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              read("me,torch,training,k80,1,1,,vgg16,1,fp32,,-5,\n");
            }).find("field 'images_per_s'"),
            std::string::npos);
  EXPECT_NE(message_of([] { read_measurements("a,b\n1,2\n", "m.csv"); }).find("column 'source'"),
            std::string::npos);
}

// Benchmarks of forward and backward alone are not charged for an update.
TEST(Validation, StepsWithoutUpdateArePredictedWithoutIt) {
  const Catalog catalog = Catalog::built_in();
  Networks networks([](const std::string& name) { return models::build_model(name); });
  const std::vector<Measurement> rows = read(
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,vgg16,16,fp32,,100,\n"
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,vgg16,16,fp32,,100,\"forward 1 ms, no update\"\n");
  EXPECT_TRUE(rows[0].updates);
  EXPECT_FALSE(rows[1].updates);
  const std::vector<Score> scores = Validation(catalog, networks, rows).score();
  // VGG16's 138 million weights, gradients and momenta take milliseconds to go through.
  EXPECT_GT(scores[1].predicted, 1.02 * scores[0].predicted);
}

// Scores are those of the catalog that they are asked for, whatever the fit started from.
TEST(Validation, ScalingIsScoredWithTheFactorsOfTheFit) {
  Catalog start = Catalog::built_in();
  DeviceFactors wrong = start.factors();
  wrong.devices["v100"] = {0.3, 0.3};
  start.set_factors(wrong);
  Networks networks([](const std::string& name) { return models::build_model(name); });
  const std::vector<Measurement> rows = read(
      "me,tensorflow-1.9,training,v100,1,1,,resnet50,64,fp32,,300,\n"
      "me,tensorflow-1.9,training,v100,1,1,,vgg16,64,fp32,,200,\n"
      "me,tensorflow-1.9,training,v100,8,8,,vgg16,32,fp32,ring,1200,\n");  // without a row of one
  const Validation validation(start, networks, rows);
  const Catalog fitted = validation.fit();
  const std::vector<Score> scores = validation.score(fitted);
  const std::vector<Score> again = Validation(fitted, networks, rows).score();
  ASSERT_EQ(scores.size(), again.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_DOUBLE_EQ(scores[i].predicted, again[i].predicted) << i;
  }
}

TEST(Validation, FitsAndScoresAFileOfOwnRows) {
  const Catalog catalog = Catalog::built_in();
  Networks networks([](const std::string& name) { return models::build_model(name); });
  // Half again as fast as the stack is in the catalog: the fit must find most of that.
  const std::vector<Measurement> probe = read(
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,resnet18,16,fp32,,1,\n"
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,resnet50,16,fp32,,1,\n"
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,vgg16,16,fp32,,1,\n"
      "me,torch-cudnn5.1,training,gtx-1080,1,1,,resnet34,16,fp32,,,out of memory\n");
  std::vector<Measurement> rows = probe;
  const std::vector<Score> before = Validation(catalog, networks, probe).score();
  for (size_t i = 0; i < before.size(); ++i) rows[i].images_per_s = 1.5 * before[i].predicted;
  const Validation validation(catalog, networks, rows, Hierarchy::Start::kCatalog);
  ASSERT_EQ(validation.excluded().size(), 1u);
  EXPECT_NEAR(summarize(validation.score()).bias, 1 / 1.5 - 1, 1e-9);
  const Catalog fitted = validation.fit();
  // Three rows pull against the priors, which keep some of the way.
  constexpr double kLeftOver = 0.1;
  EXPECT_LT(summarize(validation.score(fitted)).mape, kLeftOver);
  // What was written can be read back.
  Catalog again = Catalog::built_in();
  again.add(stacks_yaml(fitted), "fitted.yaml");
  EXPECT_NEAR(again.stack("torch-cudnn5.1").for_class("gpu").conv,
              fitted.stack("torch-cudnn5.1").for_class("gpu").conv, 1e-3);
}

// Nothing is known of fp64 without the one family that was measured in it.
TEST(Validation, FamiliesWithAndWithoutTheirPrecisionElsewhere) {
  const Catalog catalog = Catalog::built_in();
  Networks networks([](const std::string& name) { return models::build_model(name); });
  const std::vector<Measurement> rows = read(
      "me,torch-cudnn5.1,training,p100,1,1,,resnet18,16,fp32,,300,\n"
      "me,mxnet-1.2,training,p100,1,1,,resnet18,16,fp32,,250,\n"
      "me,mxnet-1.2,training,p100,1,1,,resnet18,16,fp64,,100,\n");
  const Validation validation(catalog, networks, rows);
  EXPECT_EQ(validation.leave_one_out(Group::kFamily, /*supported=*/false).size(), 3u);
  const std::vector<Score> known = validation.leave_one_out(Group::kFamily, /*supported=*/true);
  ASSERT_EQ(known.size(), 2u);
  for (const Score& score : known) EXPECT_EQ(score.row->precision, Precision::kFp32);
}

// One row of the overview table of docs/results/validation.md.
std::string overview_row(std::string_view name, const Summary& s) {
  const std::string rows = s.rows < 1000 ? fmt::format("{}", s.rows)
                                         : fmt::format("{},{:03}", s.rows / 1000, s.rows % 1000);
  return fmt::format("| {} | {} | {:.1f} % |", name, rows, s.mape * 100);
}

// The bounds are the project's promises; docs/results/validation.md has the figures.
TEST(Validation, PublishedRowsArePredictedWithinTheStatedErrors) {
  constexpr double kTrainingMape = 0.08;
  constexpr double kScalingMape = 0.08;
  constexpr double kInferenceMape = 0.09;
  const Catalog catalog = Catalog::built_in();
  Networks networks([](const std::string& name) { return models::build_model(name); });
  const std::vector<Measurement> rows = published_measurements();
  const Validation validation(catalog, networks, rows);
  std::map<MeasuredTask, std::vector<Score>> by_subject;
  for (const Score& score : validation.score()) by_subject[score.subject].push_back(score);
  EXPECT_LE(summarize(by_subject[MeasuredTask::kTraining]).mape, kTrainingMape);
  EXPECT_LE(summarize(by_subject[MeasuredTask::kScaling]).mape, kScalingMape);
  EXPECT_LE(summarize(by_subject[MeasuredTask::kInference]).mape, kInferenceMape);
  EXPECT_GT(by_subject[MeasuredTask::kTraining].size(), 200u);
  const std::string page = read_file(TY_DOCS_DIR "/results/validation.md");
  for (const auto& [subject, scores] : by_subject) {
    const std::string row = overview_row(subject_name(subject), summarize(scores));
    EXPECT_NE(page.find(row), std::string::npos)
        << row << "\nis not on the page; make it again: trainyard validate --leave-one-out "
        << "--format md > docs/results/validation.md";
  }
}

}  // namespace
}  // namespace trainyard::predict
