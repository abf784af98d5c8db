#include "report/runs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::report {
namespace {

// A run of two classes with so many epochs.
std::filesystem::path make_run(const TemporaryFolder& folder, const std::string& name, int batch,
                               int epochs) {
  std::filesystem::path directory = folder / name;
  std::filesystem::create_directories(directory);
  write_file(directory / "config.yaml", fmt::format("model: lenet5\nbatch: {}\nseed: 1\n", batch));
  std::string lines;
  for (int e = 1; e <= epochs; ++e) {
    for (int s = 1; s <= 3; ++s) {
      lines += fmt::format("{{\"step\":{},\"loss\":{}}}\n", 3 * (e - 1) + s, 1.0 / e);
    }
    lines += fmt::format(
        "{{\"step\":{},\"epoch\":{},\"train_loss\":{},\"train_accuracy\":0.5,\"images_per_s\":{},"
        "\"seconds\":{},\"test_loss\":0.6,\"test_top1\":{},\"confusion\":[5,1,2,4]}}\n",
        3 * e, e, 1.0 / e, 10 * batch, 2 * e, 0.7 + 0.1 * e);
  }
  write_file(directory / "metrics.jsonl", lines);
  return directory;
}

TEST(Runs, AreComparedWithTheBestMarked) {
  const TemporaryFolder folder("runs");
  const std::vector<std::filesystem::path> directories = {make_run(folder, "small", 32, 2),
                                                          make_run(folder, "large", 64, 1)};
  const Document document = runs_document(directories);
  const std::string text = render(document, Format::kText);
  for (const char* piece : {"2 training runs", "*90.00 %", "*640", "batch    32     64",
                            "small, test   ○ small, training", "Mistakes of small"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
  EXPECT_EQ(text.find("seed     "), std::string::npos) << "the same in both";
  const Json& runs = document.data.at("runs");
  EXPECT_EQ(runs.items().size(), 2U);
  EXPECT_NEAR(runs.items()[0].at("best_top1").as_number(), 0.9, 1e-12);
}

TEST(Runs, OneRunHasNoDifferences) {
  const TemporaryFolder folder("run");
  const std::vector<std::filesystem::path> one = {make_run(folder, "only", 32, 1)};
  EXPECT_EQ(render(runs_document(one), Format::kText).find("Settings that differ"),
            std::string::npos);
}

TEST(Runs, SaysWhatIsNoRun) {
  const TemporaryFolder folder("none");
  const std::vector<std::filesystem::path> none = {folder.path()};
  EXPECT_NE(message_of([&] { runs_document(none); }).find("no config.yaml"), std::string::npos);
  const std::vector<std::filesystem::path> begun = {make_run(folder, "begun", 32, 0)};
  EXPECT_NE(message_of([&] { runs_document(begun); }).find("no epoch is finished"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::report
