#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
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
