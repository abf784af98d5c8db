#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/image.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "trainyard_data_command_test";
  std::filesystem::create_directories(folder);
  std::filesystem::remove_all(folder / name);
  return folder / name;
}

constexpr const char* kSet = "synthetic:3x8x10,classes=4,size=40";

TEST(Data, InspectCountsAndDrawsASheet) {
  const auto sheet = scratch("sheet.png");
  const Outcome result =
      run({"data", "inspect", kSet, "--sheet", sheet.string(), "--per-class", "3", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  EXPECT_EQ(data.at("samples").as_int(), 40);
  EXPECT_EQ(data.at("mean").items().size(), 3U);
  int64_t samples = 0;
  for (const Json& one : data.at("classes").items()) samples += one.at("samples").as_int();
  EXPECT_EQ(samples, 40);
  EXPECT_TRUE(data.at("unreadable").items().empty());
  // Four rows and three columns of pictures enlarged seven times, gaps of two.
  const data::Image image = data::read_image(sheet);
  EXPECT_EQ(image.height, 2 + 4 * (56 + 2));
  EXPECT_EQ(image.width, 2 + 3 * (70 + 2));
}

TEST(Data, InspectListsDamagedPictures) {
  const auto folder = scratch("pictures");
  std::filesystem::create_directories(folder / "cat");
  const data::Image image{.height = 4, .width = 4, .pixels = std::vector<uint8_t>(48, 9)};
  write_file(folder / "cat" / "good.png", data::encode_png(image));
  write_file(folder / "cat" / "bad.png", data::encode_png(image).substr(0, 50));
  const auto written = scratch("written");
  const Outcome result = run({"data", "inspect", folder.string(), "--sheet",
                              scratch("damaged.png").string(), "--pictures", written.string()});
  ASSERT_EQ(result.code, 0) << result.err;
  // The damaged one comes first.
  EXPECT_EQ(data::read_image(written / "class0-1.png").pixels, image.pixels);
  EXPECT_NE(result.out.find("1 samples cannot be read"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("cat/bad.png: the PNG cannot be read"), std::string::npos);
}

TEST(Data, ShowDrawsSamplesAndDraws) {
  const auto file = scratch("shown.png");
  const Outcome result = run({"data", "show", kSet, "--augment", "crop:2,flip,normalize", "-o",
                              file.string(), "--samples", "2", "--draws", "5", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  EXPECT_EQ(data.at("evaluation").as_string().find("normalize:0."), 0U);
  EXPECT_EQ(data::read_image(file).width, 2 + 5 * (70 + 2));
}

TEST(Data, ShowsPicturesOfAnySizeWithoutSteps) {
  const auto folder = scratch("sizes");
  std::filesystem::create_directories(folder / "cat");
  for (const int64_t side : {20, 35}) {
    const data::Image image{.height = side,
                            .width = 30,
                            .pixels = std::vector<uint8_t>(static_cast<size_t>(side) * 90, 9)};
    write_file(folder / "cat" / fmt::format("{}.png", side), data::encode_png(image));
  }
  const auto file = scratch("sizes.png");
  const Outcome result =
      run({"data", "show", folder.string(), "-o", file.string(), "--draws", "1", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  EXPECT_EQ(data.at("shape").as_string(), "3x300x300");
  EXPECT_EQ(data.at("augment").as_string(), "resize:300x300");
}

TEST(Data, WrongRequestsAreRefusedAndWriteNothing) {
  const auto file = scratch("nothing.png");
  const std::vector<std::vector<std::string>> wrong = {
      {"data", "inspekt", kSet},
      {"data", "inspect", "nowhere"},
      {"data", "inspect", kSet, "--draws", "2"},
      {"data", "inspect", kSet, "--per-class", "2"},
      {"data", "show", kSet},
      {"data", "show", kSet, "--augment", "flop", "-o", file.string()},
      {"data", "show", kSet, "--samples", "0", "-o", file.string()},
      {"data", "show", kSet, "--split", "both", "-o", file.string()},
  };
  for (const auto& arguments : wrong) EXPECT_EQ(run(arguments).code, 2) << arguments.back();
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(run({"data", "show", kSet, "-o", "/nowhere/x.png"}).code, 1);
}

}  // namespace
}  // namespace trainyard::cli
