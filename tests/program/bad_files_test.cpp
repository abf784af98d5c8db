// `trainyard train --skip-bad-files` on a folder with damaged pictures.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/image.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

// Pictures as a folder of them has: whole ones, and each kind cut in the middle or empty.
void write_partly_damaged(const std::filesystem::path& folder) {
  const data::Image image{.height = 40, .width = 40, .pixels = std::vector<uint8_t>(4800, 90)};
  const std::string png = data::encode_png(image);
  const std::string jpeg = read_file(std::filesystem::path(TY_DOCS_DIR) / "detection.jpg");
  for (const char* label : {"train/cat", "train/dog", "val/cat", "val/dog"}) {
    std::filesystem::create_directories(folder / label);
    write_file(folder / label / "whole.png", png);
    write_file(folder / label / "whole.jpg", jpeg);
  }
  write_file(folder / "train/cat/cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  write_file(folder / "train/dog/cut.png", png.substr(0, png.size() / 2));
  write_file(folder / "train/dog/empty.jpg", "");
  write_file(folder / "val/dog/cut\x1b[2J.jpeg", jpeg.substr(0, jpeg.size() / 3));
}

TEST(Train, SkipBadFilesSaysWhichAndTrainsOnTheRest) {
  const TemporaryFolder folder("skip_bad");
  write_partly_damaged(folder / "pictures");
  const std::vector<std::string> words = {"train",
                                          "--model",
                                          "lenet5",
                                          "--data",
                                          folder / "pictures",
                                          "--augment",
                                          "resize:28x28,channels:1,normalize:0.5:0.25",
                                          "--epochs",
                                          "1",
                                          "--batch",
                                          "2",
                                          "--runs-dir",
                                          folder / "runs",
                                          "--name",
                                          "rest"};
  const Outcome refused = run(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("pictures/train/"), std::string::npos) << refused.err;

  std::filesystem::remove_all(folder / "runs");
  std::vector<std::string> skipping = words;
  skipping.emplace_back("--skip-bad-files");
  testing::internal::CaptureStderr();
  const Outcome trained = run(skipping);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(said.find("4 files that cannot be read are left out:"), std::string::npos) << said;
  for (const char* name : {"train/cat/cut.jpg: ", "train/dog/cut.png: ", "train/dog/empty.jpg: ",
                           "val/dog/cut\\x1b[2J.jpeg: "}) {
    EXPECT_NE(said.find(name), std::string::npos) << name << "\n" << said;
  }
  const std::vector<std::string> listed = split(read_file(folder / "runs/rest/skipped.txt"), '\n');
  EXPECT_EQ(listed.size(), 5U) << "a line each, and the end of the last";
  // Judged on the whole pictures of the run's own data, without a flag.
  const Outcome judged = run({"evaluate", folder / "runs/rest", "--quiet", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_EQ(Json::parse(judged.out, "evaluate").at("images").as_int(), 4);
}

}  // namespace
}  // namespace trainyard::cli
