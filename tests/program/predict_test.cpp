#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "program/ui_hooks.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(PredictCommand, JsonHasTheAgreedFields) {
  const Outcome outcome = run({"predict", "inception_v3", "--device", "k80", "--workers", "1,2,4,8",
                               "--batch", "128", "--scaling", "strong", "--comm", "tree", "--price",
                               "0.9", "--dataset", "imagenet", "--epochs", "2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out, "output");
  ASSERT_EQ(json.at("rows").items().size(), 4u);
  for (const Json& row : json.at("rows").items()) {
    for (const char* key : {"workers", "forward_ms", "backward_ms", "update_ms", "comm_ms",
                            "exposed_comm_ms", "step_ms", "images_per_s", "speedup", "efficiency",
                            "epoch_s", "train_s", "cost_usd", "memory_bytes", "limit"}) {
      EXPECT_NE(row.find(key), nullptr) << key;
    }
    EXPECT_NEAR(row.at("train_s").as_number(), 2 * row.at("epoch_s").as_number(), 1e-6);
  }
}

TEST(PredictCommand, PaleoLayersPeakAndFormats) {
  EXPECT_EQ(
      run({"predict", "alexnet", "--cost-model", "paleo", "--comm", "tree", "--workers", "1,4"})
          .code,
      0);
  EXPECT_EQ(run({"predict", "vgg16", "--cost-model", "paleo", "--hybrid", "--workers", "4"}).code,
            0);
  const Outcome layers = run({"predict", "vgg16", "--layers", "--format", "csv"});
  EXPECT_NE(layers.out.find("bound by"), std::string::npos);
  const Outcome peak = run({"predict", "googlenet", "--peak", "--json"});
  EXPECT_NE(peak.out.find("Lu et al."), std::string::npos);
}

double speed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "predict");
  arguments.insert(arguments.end(), {"--device", "v100", "--json"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out, "output");
  return json.at("rows").items()[0].at("images_per_s").as_number();
}

// Constants and what exporters write as arithmetic count as in the built-in network.
TEST(PredictCommand, AnExportedFileIsPredictedLikeTheNetwork) {
  const auto path = std::filesystem::temp_directory_path() / "trainyard_predict_test.onnx";
  const std::vector<std::string> models = {"lenet5", "mobilenet_v3_small", "efficientnet_b0",
                                           "googlenet"};
  for (const std::string& model : models) {
    ASSERT_EQ(run({"export", model, "-o", path.string()}).code, 0) << model;
    for (const char* batch : {"1", "32"}) {
      const double built_in = speed({model, "--batch", batch});
      EXPECT_NEAR(speed({path.string(), "--batch", batch}), built_in, 1e-3 * built_in) << model;
      const double used = speed({model, "--batch", batch, "--inference"});
      EXPECT_NEAR(speed({path.string(), "--batch", batch, "--inference"}), used, 1e-3 * used)
          << model;
    }
  }
  std::filesystem::remove(path);
}

TEST(PredictCommand, TheBatchOfAShapeIsNoImage) {
  const auto path = std::filesystem::temp_directory_path() / "trainyard_predict_shape.onnx";
  ASSERT_EQ(run({"export", "lenet5", "-o", path.string()}).code, 0);
  const double one = speed({path.string(), "--shape", "image=1,1,28,28"});
  EXPECT_NEAR(speed({path.string(), "--shape", "image=8,1,28,28"}), one, 1e-6 * one);
  std::filesystem::remove(path);
}

// Settings of a run may leave the size to the data; machine.json says what it became.
TEST(PredictCommand, RunsArePredictedForTheSamplesOfTheirData) {
  const ui::Hooks hooks = ui_hooks({.folder = {}, .device = "v100", .server = {}});
  const Json settings =
      Json::object({{"model", "resnet20-cifar"}, {"batch", 256}, {"workers", 1}, {"image", 0}});
  const auto step_ms = [&](const Json& machine) {
    return hooks.forecast(settings, machine).at("step_ms").as_number();
  };
  const auto sample = [](int64_t side) {
    return Json::object(
        {{"input", Json::array_of(std::vector<int64_t>{3, side, side})}, {"classes", 10}});
  };
  EXPECT_LT(step_ms(sample(28)), step_ms(sample(32)));
  EXPECT_EQ(step_ms(sample(32)), step_ms(Json::object()));
  const Json deeper = Json::object({{"model", "gpt-nano"}, {"batch", 8}, {"layers", 3}});
  EXPECT_TRUE(hooks.forecast(deeper, Json::object()).is_null());
}

TEST(PredictCommand, WrongRequestsExitWithTwoAndHelp) {
  EXPECT_EQ(run({"predict", "vgg16", "--device", "k8"}).code, 2);
  EXPECT_NE(run({"predict", "vgg16", "--device", "k8"}).err.find("k80"), std::string::npos);
  EXPECT_NE(run({"predict", "vgg61"}).err.find("vgg16"), std::string::npos);
  EXPECT_NE(run({"predict", "vgg16", "--link", "10gb"}).err.find("10gbe"), std::string::npos);
  EXPECT_EQ(run({"predict", "vgg16", "--workers", "0"}).code, 2);
  EXPECT_EQ(run({"predict", "vgg16", "--workers", "-3"}).code, 2);
  EXPECT_EQ(run({"predict", "vgg16", "--batch", "0"}).code, 2);
  EXPECT_EQ(run({"predict", "vgg16", "--dataset", "imagenett"}).code, 2);
  EXPECT_EQ(run({"predict", "vgg16", "--catalog", "no-such-file.yaml"}).code, 2);
  EXPECT_EQ(run({"validate", "--measurements", "no-such-file.csv"}).code, 2);
}

TEST(PredictCommand, SaysOverWhichWorkersTheSpeedupIs) {
  const std::vector<std::string> words = {"predict", "vgg16",     "--device", "k80",      "--batch",
                                          "512",     "--scaling", "strong",   "--workers"};
  std::vector<std::string> some = words;
  some.emplace_back("1,8,16");
  EXPECT_NE(run(some).out.find("over 8 workers, the fewest of these that fit"), std::string::npos);
  some.emplace_back("--json");
  const Json json = Json::parse(run(some).out, "output");
  EXPECT_TRUE(json.at("rows").items()[0].at("speedup").is_null());
  EXPECT_EQ(json.at("rows").items()[1].at("speedup").as_number(), 1);
  std::vector<std::string> none = words;
  none.emplace_back("1,2");
  EXPECT_NE(run(none).out.find("no row fits"), std::string::npos);
}

TEST(PredictCommand, SaysWhatIsDoneWithAnUnevenBatch) {
  const Outcome outcome =
      run({"predict", "lenet5", "--workers", "3", "--batch", "100", "--scaling", "strong"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("does not divide by 3 workers"), std::string::npos);
}

TEST(SweepCommand, ReadsAFileAndPrintsTheFrontOfEachNetwork) {
  const auto path = std::filesystem::temp_directory_path() / "trainyard_sweep_test.yaml";
  write_file(path, "models: [lenet5, alexnet]\ndevices: [k80, v100]\nworkers: [1, 8]\n");
  const Outcome all = run({"sweep", path.string(), "--json"});
  EXPECT_EQ(Json::parse(all.out, "output").at("rows").items().size(), 8u);
  const Outcome front = run({"sweep", path.string(), "--pareto", "time,cost", "--format", "csv"});
  EXPECT_NE(front.out.find("lenet5"), std::string::npos);
  EXPECT_NE(front.out.find("alexnet"), std::string::npos);
  write_file(path, "models: [lenet5]\ndevices: [k8]\n");
  EXPECT_EQ(run({"sweep", path.string()}).code, 2);
  std::filesystem::remove(path);
}

TEST(DevicesCommand, ListsAndShows) {
  EXPECT_NE(run({"devices"}).out.find("titan-x-maxwell"), std::string::npos);
  const Outcome shown = run({"devices", "show", "k80", "--json"});
  EXPECT_EQ(Json::parse(shown.out, "output").at("fp32_gflops").as_number(), 4370);
  EXPECT_EQ(run({"devices", "show", "k81"}).code, 2);
  EXPECT_EQ(run({"devices", "list"}).code, 2);
}

}  // namespace
}  // namespace trainyard::cli
