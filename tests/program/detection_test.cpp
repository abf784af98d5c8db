// Detectors whose priors are fitted to the data: the shapes go wherever the weights go.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "models/detection/exported.h"
#include "models/onnx/metadata.h"
#include "runs/safetensors.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

constexpr const char* kShapesData = "shapes:64,size=24";

std::vector<std::string> detector_words(const TemporaryFolder& folder, const std::string& name,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train",   "--model",    "ssd300-mobilenet_v1-lite",
                                    "--data",  kShapesData,  "--image",
                                    "64",      "--width",    "0.25",
                                    "--batch", "8",          "--threads",
                                    "1",       "--runs-dir", folder.path(),
                                    "--name",  name,         "--quiet",
                                    "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class FittedDetector : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder("detection_cli");
    const Outcome trained =
        run(detector_words(*folder_, "fitted", {"--priors", "fitted", "--epochs", "2"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    map_ = Json::parse(trained.out, "train").at("epochs").items().back().at("map").as_number();
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string run_path() { return *folder_ / "fitted"; }
  static std::string shapes() {
    return onnx_io::read_metadata(run_path() + "/model.onnx").at(onnx_io::kPriorsKey);
  }

  static TemporaryFolder* folder_;
  static double map_;
};

TemporaryFolder* FittedDetector::folder_ = nullptr;
double FittedDetector::map_ = 0;

TEST_F(FittedDetector, ShapesAreInEveryFileOfTheRun) {
  EXPECT_EQ(detect::parse_shapes(shapes()).size(), detect::kMaps * detect::kShapesPerPosition);
  EXPECT_NE(shapes(), detect::shapes_text(detect::ssd_shapes()));
  EXPECT_NE(read_file(run_path() + "/config.yaml").find("priors: \"" + shapes()),
            std::string::npos);
  for (const char* file : {"/model.safetensors", "/checkpoints/latest.safetensors"}) {
    const runs::SafetensorsFile weights(run_path() + file);
    ASSERT_TRUE(weights.metadata().contains(onnx_io::kPriorsKey)) << file;
    EXPECT_EQ(weights.metadata().at(onnx_io::kPriorsKey), shapes());
  }
}

// The same boxes from the run, and from the zoo's network with the weights of a checkpoint.
TEST_F(FittedDetector, EvaluatesAsItWasTrained) {
  const std::vector<std::vector<std::string>> models = {
      {run_path()},
      {"ssd300-mobilenet_v1-lite", "--image", "64", "--width", "0.25", "--weights",
       run_path() + "/checkpoints/latest.safetensors"}};
  std::vector<std::string> found;
  for (const std::vector<std::string>& model : models) {
    const std::string file = *folder_ / "detections.json";
    std::vector<std::string> words = {"evaluate"};
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), {"--data", kShapesData, "--batch", "8", "--detections", file,
                               "--quiet", "--json"});
    const Outcome tested = run(words);
    ASSERT_EQ(tested.code, 0) << tested.err;
    EXPECT_NEAR(Json::parse(tested.out, "evaluate").at("map").as_number(), map_, 1e-6);
    found.push_back(read_file(file));
  }
  EXPECT_GT(found[0].size(), 100U);
  EXPECT_EQ(found[0], found[1]);
}

// Discs under another name: with numbers compared they would be found.
TEST_F(FittedDetector, ClassesAreComparedByName) {
  const auto judged = [&](const std::string& data, std::vector<std::string> more) {
    std::vector<std::string> words = {"evaluate", "--data",  data,    "--batch",
                                      "8",        "--quiet", "--json"};
    words.insert(words.begin() + 1, more.begin(), more.end());
    const Outcome tested = run(words);
    EXPECT_EQ(tested.code, 0) << tested.err;
    return Json::parse(tested.out, "evaluate");
  };
  const std::string outlined = "shapes:64,size=20,outlined=1,classes=2";
  const Json unknown = judged(outlined, {run_path()});
  EXPECT_EQ(unknown.at("unknown_classes").dump(-1), R"(["ring","frame"])");
  EXPECT_EQ(unknown.at("map").as_number(), 0);
  const std::string labels = *folder_ / "labels.txt";
  write_file(labels, "BACKGROUND\nring\nframe\nother\n");
  const Json named = judged(outlined, {run_path(), "--labels", labels});
  EXPECT_TRUE(named.at("unknown_classes").items().empty());
  EXPECT_EQ(named.at("classes_matched").as_string(), "by name");
  write_file(labels, "ring\n");
  EXPECT_EQ(run({"evaluate", run_path(), "--data", outlined, "--labels", labels, "--quiet"}).code,
            2);
}

TEST_F(FittedDetector, FilesDecodeWithItsShapes) {
  const std::string file = *folder_ / "raw.onnx";
  const Outcome exported = run({"export", run_path(), "--raw", "-o", file});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(onnx_io::read_metadata(file).at(onnx_io::kPriorsKey), shapes());
  const Outcome zoo = run({"export", "ssd300-mobilenet_v1-lite", "--image", "64", "--width", "0.25",
                           "--classes", "4", "--weights", run_path() + "/model.safetensors",
                           "--raw", "-o", *folder_ / "zoo.onnx"});
  ASSERT_EQ(zoo.code, 0) << zoo.err;
  EXPECT_EQ(onnx_io::read_metadata(*folder_ / "zoo.onnx").at(onnx_io::kPriorsKey), shapes());
}

TEST_F(FittedDetector, FineTuningKeepsTheShapesOfTheWeights) {
  const Outcome tuned = run(detector_words(
      *folder_, "tuned", {"--epochs", "1", "--weights", run_path() + "/model.safetensors"}));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(onnx_io::read_metadata(*folder_ / "tuned/model.onnx").at(onnx_io::kPriorsKey),
            shapes());
}

TEST_F(FittedDetector, ResumesBitByBit) {
  const Outcome half = run(detector_words(
      *folder_, "half",
      {"--priors", "fitted", "--epochs", "2", "--max-steps", "4", "--checkpoint-every", "4"}));
  ASSERT_EQ(half.code, 0) << half.err;
  const Outcome rest = run({"train", "--resume", *folder_ / "half", "--max-steps", "0", "--quiet"});
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(read_file(*folder_ / "half/model.safetensors"),
            read_file(run_path() + "/model.safetensors"));
}

TEST(Priors, BadOnesAreNamed) {
  const TemporaryFolder folder("bad_priors");
  const auto refusal = [&](const std::string& priors) {
    const Outcome outcome = run(detector_words(folder, "bad", {"--priors", priors}));
    EXPECT_EQ(outcome.code, 2) << priors;
    return outcome.err;
  };
  EXPECT_NE(refusal("0.1x0.2").find("1 shapes, expected 6 for each of 6 or 7 maps"),
            std::string::npos);
  EXPECT_NE(refusal("fited").find("'fited' is no shape"), std::string::npos);
  EXPECT_NE(refusal("0x0.2").find("priors"), std::string::npos);
  const Outcome classes = run({"train", "--data", "synthetic:1x28x28,classes=4,size=64", "--priors",
                               "fitted", "--runs-dir", folder.path(), "--quiet"});
  EXPECT_EQ(classes.code, 2);
  EXPECT_NE(classes.err.find("--priors is for data with boxes"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::cli
