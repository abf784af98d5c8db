// Results belong to everything that they were made of: command, settings and files.
#include "program/lab/cells.h"

#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "program/lab/run_lab.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::lab {
namespace {

constexpr const char* kChain = R"(
title: A chain
question: What is made of what?
settings:
  noise: [0, 0.25, 0.5]
  source: none
  epochs: 3
  steps: "=.epochs * 2"
quick: {epochs: 1}
course: {epochs: 200}
require:
  - {that: '.epochs > 0', else: "epochs must be above 0, not {{ .epochs }}"}
steps:
  - {name: trained, run: "train {share} {source} --to {cell}/weights", each: {share: "{noise}"}}
  - {name: tuned, of: trained, run: "tune {trained.folder}/weights --to {cell}/weights --epochs {epochs}"}
  - {name: alone, run: "train 1 {source} --to {cell}/weights"}
  - {name: told, run: "tell {alone.folder}/weights --steps {steps}"}
report: []
)";

// Commands that write what they read, so that a result of the wrong files is seen.
class ChainTest : public ::testing::Test {
 protected:
  ChainTest() : folder_("chain") { write_file(folder_ / "chain.yaml", kChain); }

  Outcome command(std::span<const std::string> words) {
    commands_.push_back(words[0]);
    std::string made = words[0];
    for (const std::string& word : words.subspan(1)) {
      const std::filesystem::path path = word;
      if (std::filesystem::is_regular_file(path)) {
        made += "(" + read_file(path) + ")";
      } else if (path.filename() != "weights" && !word.starts_with("--")) {
        made += " " + word;
      }
    }
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "--to") write_file(words[i + 1], made);
    }
    if (words[0] == fail_at_) return {.code = 2, .out = {}, .error = "stopped here"};
    return {.code = 0, .out = Json::object({{"made", made}}).dump(), .error = {}};
  }

  Json run(const Choices& choices, bool again = false) {
    const Lab lab = load_lab((folder_ / "chain.yaml").string());
    LabRun run{.lab = &lab,
               .choices = choices,
               .directory = folder_ / "out",
               .again = again,
               .log = &log_,
               .should_stop = [] { return false; }};
    run.command = [&](std::span<const std::string> words, const auto&) { return command(words); };
    commands_.clear();
    return run_cells(run);
  }

  static std::string made_of(const Json& data, std::string_view step, size_t index) {
    return data.at(step).items()[index].at("result").at("made").as_string();
  }

  std::string error_with(std::string_view from, std::string_view to) {
    std::string text = kChain;
    text.replace(text.find(from), from.size(), to);
    write_file(folder_ / "wrong.yaml", text);
    return message_of(
        [&] { cells_of(load_lab((folder_ / "wrong.yaml").string()), {}, folder_.path()); });
  }

  TemporaryFolder folder_;
  std::ostringstream log_;
  std::vector<std::string> commands_;
  std::string fail_at_;
};

// Fine-tuning once read the weights of whatever settings had been run before.
TEST_F(ChainTest, ResultsOfOtherSettingsStayApart) {
  run({});
  const Json fewer = run({.set = {"noise=0,0.5"}});
  EXPECT_TRUE(commands_.empty());  // all of them were there
  EXPECT_EQ(made_of(fewer, "tuned", 1), "tune(train 0.5 none) 3");
  const Json other = run({.set = {"noise=0.5,0"}});
  EXPECT_EQ(made_of(other, "tuned", 0), "tune(train 0.5 none) 3");
  const Json more = run({.set = {"noise=0,0.25,0.5,0.75"}});
  EXPECT_EQ(commands_, (std::vector<std::string>{"train", "tune"}));
  EXPECT_EQ(made_of(more, "tuned", 3), "tune(train 0.75 none) 3");
  EXPECT_EQ(made_of(run({.set = {"noise=0,0.5", "epochs=4"}}), "tuned", 1),
            "tune(train 0.5 none) 4");
}

TEST_F(ChainTest, ASourceThatChangedIsReadAgain) {
  const std::string source = (folder_ / "source.txt").string();
  write_file(source, "first");
  const Choices choices{.set = {"source=" + source}};
  EXPECT_EQ(made_of(run(choices), "tuned", 0), "tune(train 0(first)) 3");
  run(choices);
  EXPECT_TRUE(commands_.empty());
  write_file(source, "other");
  EXPECT_EQ(made_of(run(choices), "tuned", 0), "tune(train 0(other)) 3");
  EXPECT_EQ(commands_.size(), 8U);
  write_file(source, "first");  // the results of before are still there
  EXPECT_EQ(made_of(run(choices), "tuned", 0), "tune(train 0(first)) 3");
  EXPECT_TRUE(commands_.empty());
}

TEST_F(ChainTest, WhatReadsAResultMadeAnewIsMadeAnew) {
  run({});
  fail_at_ = "tune";
  EXPECT_THROW(run({}, /*again=*/true), Failure);  // trained anew, not tuned
  fail_at_.clear();
  run({});
  EXPECT_EQ(commands_, (std::vector<std::string>{"tune", "tune", "tune"}));
  const auto lab = load_lab((folder_ / "chain.yaml").string());
  const std::vector<Cell> cells = cells_of(lab, {}, folder_ / "out");
  EXPECT_EQ(are_done(cells, folder_ / "out"), std::vector<bool>(cells.size(), true));
  std::filesystem::remove_all(cells[0].folder);  // of the first training
  const std::vector<bool> left = are_done(cells, folder_ / "out");
  EXPECT_FALSE(left[0]);
  EXPECT_FALSE(left[3]);
  EXPECT_TRUE(left[4]);
}

TEST_F(ChainTest, TheFolderMayMove) {
  run({});
  std::filesystem::rename(folder_ / "out", folder_ / "moved");
  const auto lab = load_lab((folder_ / "chain.yaml").string());
  const std::vector<Cell> cells = cells_of(lab, {}, folder_ / "moved");
  EXPECT_EQ(are_done(cells, folder_ / "moved"), std::vector<bool>(cells.size(), true));
}

TEST_F(ChainTest, SettingsFollowEachOther) {
  const auto lab = load_lab((folder_ / "chain.yaml").string());
  EXPECT_EQ(settings_of(lab, {}).at("steps").as_int(), 6);
  EXPECT_EQ(settings_of(lab, {.scale = Scale::kQuick}).at("steps").as_int(), 2);
  EXPECT_EQ(settings_of(lab, {.scale = Scale::kCourse}).at("steps").as_int(), 400);
  EXPECT_EQ(settings_of(lab, {.set = {"epochs=5"}}).at("steps").as_int(), 10);
  EXPECT_EQ(settings_of(lab, {.set = {"epochs=5", "steps=1"}}).at("steps").as_int(), 1);
  EXPECT_EQ(message_of([&] { settings_of(lab, {.set = {"epochs=0"}}); }),
            "lab chain: epochs must be above 0, not 0");
}

TEST_F(ChainTest, SaysWhatIsWrongWithAReference) {
  EXPECT_EQ(error_with("title: A", "title: B"), "no error");
  EXPECT_NE(error_with("{trained.folder}/weights", "{dir}/weights").find("{STEP.folder}"),
            std::string::npos);
  EXPECT_NE(error_with("of: trained, ", "").find("stands for 3 commands"), std::string::npos);
  EXPECT_NE(error_with("of: trained", "of: told").find("no step 'told' before"), std::string::npos);
  EXPECT_NE(error_with("{alone.folder}", "{told.folder}").find("no step 'told' runs before"),
            std::string::npos);
}

TEST_F(ChainTest, ALabWithoutSettingsSaysSo) {
  write_file(folder_ / "none.yaml",
             "title: a\nquestion: b\nsteps: [{name: x, run: models}]\nreport: []\n");
  const Lab lab = load_lab((folder_ / "none.yaml").string());
  EXPECT_EQ(message_of([&] { settings_of(lab, {.set = {"foo=1"}}); }),
            "--set: lab none has no settings, so 'foo' cannot be changed");
  EXPECT_NE(message_of([&] { settings_of(lab, {.scale = Scale::kCourse}); }).find("--scale full"),
            std::string::npos);
}

TEST(Digests, AreOfFilesAndFoldersThatWordsName) {
  const TemporaryFolder folder("digests");
  const std::string file = (folder / "a.csv").string();
  write_file(file, "1");
  const std::vector<std::string> words = {"train", "--data=voc:" + folder.path().string(),
                                          "x:" + file + ",2", "lenet5"};
  const Json before = digests_of_files(words);
  EXPECT_EQ(before.members().size(), 2U);
  write_file(file, "2");
  const Json after = digests_of_files(words);
  EXPECT_NE(before.at(file).dump(), after.at(file).dump());
  EXPECT_NE(before.at(folder.path().string()).dump(), after.at(folder.path().string()).dump());
}

TEST(Inputs, AreRowsOfAFileOfTheUser) {
  const TemporaryFolder folder("inputs");
  write_file(folder / "mine.yaml", R"(
title: a
question: b
settings: {measured: none}
inputs: {measured: [device, workers, "batch?", images/s, "cost?"]}
steps: [{name: x, run: models}]
report: []
)");
  const Lab lab = load_lab((folder / "mine.yaml").string());
  EXPECT_EQ(inputs_of(lab, settings_of(lab, {})).at("measured").items().size(), 0U);
  const std::string file = (folder / "m.csv").string();
  const Choices choices{.set = {"measured=" + file}};
  write_file(file, "device,workers,images/s\nk80,1,35.5\nk80,2,68\n");
  const Json rows = inputs_of(lab, settings_of(lab, choices)).at("measured");
  EXPECT_EQ(rows.items()[0].dump(-1), R"({"device":"k80","workers":1,"images_per_s":35.5})");
  EXPECT_EQ(rows.items().size(), 2U);
  write_file(file, "device,workers\nk80,1\n");
  EXPECT_NE(message_of([&] { inputs_of(lab, settings_of(lab, choices)); }).find("images/s"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::lab
