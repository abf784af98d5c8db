#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/image.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "support/torch_bytes.h"
#include "tensor/npy.h"

namespace trainyard::cli {
namespace {

std::filesystem::path run_scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "trainyard_run_test";
  std::filesystem::create_directories(folder);
  return folder / name;
}

TEST(Run, GivesTheBestClassesAndWritesOutputs) {
  const auto folder = run_scratch("outputs");
  std::filesystem::remove_all(folder);
  const Outcome result =
      run({"run", "lenet5", "--top", "3", "--json", "--output", folder.string()});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  const Json& output = data.at("outputs").items().at(0);
  EXPECT_EQ(output.at("top").items().size(), 3U);
  const auto file = folder / (output.at("name").as_string() + ".npy");
  EXPECT_EQ(read_npy(file).type().to_string(), output.at("type").as_string());
}

// numpy.savez writes a zip of stored .npy files; a folder of --output has the same names.
TEST(Run, OutputsAreComparedWithThoseOfAnother) {
  const auto folder = run_scratch("expected");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(run({"run", "lenet5", "--output", folder.string()}).code, 0);
  const auto compared = [&](const std::string& with, const std::string& tolerance) {
    return run({"run", "lenet5", "--expect", with, "--tolerance", tolerance, "--json"});
  };
  const Outcome same = compared(folder.string(), "0");
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_TRUE(Json::parse(same.out, "run").at("expected").at("agree").as_bool());
  EXPECT_EQ(compared("reference", "1e-4").code, 0);
  // One number that is off by 0.5.
  const auto file = std::filesystem::directory_iterator(folder)->path();
  const Tensor kept = read_npy(file);
  Tensor off = kept.clone();
  off.values<float>()[3] += 0.5F;
  write_npy(file, off);
  const Outcome other = compared(folder.string(), "0.1");
  EXPECT_EQ(other.code, 1);
  const Json found = Json::parse(other.out, "run").at("expected");
  EXPECT_FALSE(found.at("agree").as_bool());
  EXPECT_EQ(found.at("outputs").items()[0].at("beyond").as_int(), 1);
  EXPECT_NEAR(found.at("outputs").items()[0].at("largest").as_number(), 0.5, 1e-6);
  EXPECT_EQ(compared(folder.string(), "0.6").code, 0);
  // What is not there is a wrong request, not a difference.
  EXPECT_EQ(compared((folder / "nothing.npz").string(), "1").code, 2);
  EXPECT_EQ(compared("something", "1").code, 2);
  EXPECT_EQ(compared(folder.string(), "-1").code, 2);
}

TEST(Run, AWrongInputIsARequestError) {
  const auto file = run_scratch("wrong.npy");
  write_npy(file, Tensor::zeros({DType::kF32, {1, 1, 3, 3}}));
  const Outcome shape = run({"run", "lenet5", "--input", file.string()});
  EXPECT_EQ(shape.code, 2);
  EXPECT_NE(shape.err.find("is f32[1,1,3,3], expected f32["), std::string::npos) << shape.err;
  const Outcome name = run({"run", "lenet5", "--input", "nothing=" + file.string()});
  EXPECT_EQ(name.code, 2);
  EXPECT_NE(name.err.find("the model has no input 'nothing'"), std::string::npos) << name.err;
  EXPECT_EQ(run({"run", "lenet5", "--threads", "-1"}).code, 2);
}

TEST(Run, ShowsTheTextsOfAnOutput) {
  const std::string model =
      "/usr/share/libonnx-testdata/data/node/test_cast_FLOAT_to_STRING/model.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "libonnx-testdata is not installed";
  const auto folder = run_scratch("texts");
  const Outcome result = run({"run", model, "--top", "2", "--json", "--output", folder.string()});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  const Json& texts = data.at("outputs").items().at(0).at("texts");
  ASSERT_EQ(texts.items().size(), 2U);
  for (const Json& text : texts.items()) {
    EXPECT_LE(std::fabs(std::stod(text.as_string())), 1) << text.as_string();
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "output.npy"));
}

// Two files that differ in the steps from picture to input alone.
TEST(Run, PreparesPicturesAsTheFileOfConvertedWeightsSays) {
  const TemporaryFolder folder("run_prepared");
  ASSERT_EQ(
      run({"train", "--model", "lenet5", "--data", "synthetic:1x28x28,classes=4,size=32", "--batch",
           "16", "--max-steps", "1", "--runs-dir", folder.path(), "--name", "r", "--quiet"})
          .code,
      0);
  data::Image image{28, 28, std::vector<uint8_t>(28 * 28 * 3)};
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i / 3 * 5 % 251);
  }
  write_file(folder / "p.png", data::encode_png(image));
  const auto convert = [&](const std::string& name, const std::string& steps) {
    return run({"weights", "convert", folder / "r/model.safetensors", "--model", "lenet5",
                "--classes", "4", "--augment", steps, "-o", folder / name});
  };
  // The input as it should become, of these numbers.
  const auto normalized = [&](float mean, float deviation) {
    Tensor input(DType::kF32, {1, 1, 28, 28});
    for (size_t i = 0; i < 28 * 28; ++i) {
      input.values<float>()[i] = (static_cast<float>(image.pixels[3 * i]) / 255 - mean) / deviation;
    }
    write_npy(folder / "x.npy", input);
    return "x.npy";
  };
  const auto scores = [&](const std::string& name, const std::string& input) {
    const Outcome outcome = run({"run", folder / name, "--input", folder / input, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::map<int64_t, double> found;
    const Json data = Json::parse(outcome.out, "run");
    for (const Json& top : data.at("outputs").items()[0].at("top").items()) {
      found[top.at("class").as_int()] = top.at("score").as_number();
    }
    return found;
  };
  ASSERT_EQ(convert("a.onnx", "crop:2,flip,normalize:0.5:0.5").code, 0);
  ASSERT_EQ(convert("b.onnx", "normalize:0.1:0.25").code, 0);
  const std::map<int64_t, double> a = scores("a.onnx", "p.png");
  const std::map<int64_t, double> b = scores("b.onnx", "p.png");
  const std::map<int64_t, double> as_a = scores("b.onnx", normalized(0.5F, 0.5F));
  const std::map<int64_t, double> as_b = scores("a.onnx", normalized(0.1F, 0.25F));
  ASSERT_EQ(a.size(), 4U);
  for (const auto& [label, score] : a) {
    EXPECT_NEAR(score, as_a.at(label), 1e-4) << label;
    EXPECT_NEAR(b.at(label), as_b.at(label), 1e-4) << label;
    EXPECT_GT(std::fabs(score - b.at(label)), 1e-3) << label;
  }
  const Outcome unmeasured = convert("c.onnx", "normalize");
  EXPECT_EQ(unmeasured.code, 2);
  EXPECT_NE(unmeasured.err.find("no pictures that normalize could measure"), std::string::npos)
      << unmeasured.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "c.onnx"));
}

TEST(Run, ExplainsAndDumps) {
  const auto folder = run_scratch("dump");
  std::filesystem::remove_all(folder);
  const Outcome result = run({"run", "lenet5", "--explain", "--json", "--dump", folder.string()});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(Json::parse(result.out, "stdout").at("steps").items().empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "00_imported.txt"));
}

TEST(Bench, PrintsTheKeysOfItsContract) {
  const Outcome result = run({"bench", "lenet5", "--runs", "2", "--warmup", "0", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  for (const std::string key : {"model", "batch", "threads", "median_ms", "p10_ms", "p90_ms",
                                "images_per_s", "gflops", "share_of_peak", "peak_memory_bytes"}) {
    EXPECT_NE(data.find(key), nullptr) << key;
  }
  EXPECT_EQ(run({"bench"}).code, 2);
}

TEST(Weights, InspectionFindsDamagedNumbers) {
  const TemporaryFolder folder("damaged_weights");
  const std::string body = torch_bytes::dict({{"w", torch_bytes::tensor("0", 3, 0, {3}, {1})}});
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::string path = (folder / "w.pth").string();
  // Files before PyTorch 1.6 have no checksums.
  write_file(path, torch_bytes::legacy_file(body, {{"0", torch_bytes::floats({1, none, 3})}}));
  const Outcome inspected = run({"weights", "inspect", path, "--json"});
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_EQ(Json::parse(inspected.out, "stdout").at("not_finite").as_int(), 1);
  std::string bytes = torch_bytes::zip_file(body, {{"0", torch_bytes::floats({1, 2, 3})}});
  bytes[bytes.find(torch_bytes::floats({2}))] ^= 1;
  write_file(path, bytes);
  const Outcome damaged = run({"weights", "inspect", path});
  EXPECT_EQ(damaged.code, 2);
  EXPECT_NE(damaged.err.find("checksum"), std::string::npos) << damaged.err;
}

// A confident answer of random weights is a lie unless it says so.
TEST(Run, RandomWeightsAreNamed) {
  const Outcome random = run({"run", "lenet5"});
  EXPECT_NE(random.out.find("weights are random"), std::string::npos) << random.out;
  const TemporaryFolder folder("weights");
  const std::string file = (folder / "lenet5.onnx").string();
  ASSERT_EQ(run({"export", "lenet5", "-o", file}).code, 0);
  const Outcome given = run({"run", file, "--json"});
  EXPECT_NE(given.out.find("\"weights\": \"given\""), std::string::npos) << given.out;
}

}  // namespace
}  // namespace trainyard::cli
