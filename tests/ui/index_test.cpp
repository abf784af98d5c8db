#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runs/run_directory.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "ui/answers.h"
#include "ui/made_runs.h"
#include "ui/run_index.h"
#include "ui/run_state.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

TEST(RunIndex, FindsRunsAndStudies) {
  const TemporaryFolder folder("ui_index");
  make_run(folder.path(), "a", 16, 1);
  make_run(folder.path(), "study/b", 32, 1);
  fs::create_directories(folder.path() / "none");
  fs::create_directory_symlink(folder.path() / "a", folder.path() / "link");
  RunIndex index({folder.path()});
  index.scan();
  ASSERT_EQ(index.runs().size(), 2);
  EXPECT_NE(index.find("a"), nullptr);
  EXPECT_EQ(index.find("study%2Fb")->name, "study/b");
  EXPECT_EQ(index.differing(), std::vector<std::string>{"batch"});
}

TEST(RunIndex, TakesARunItself) {
  const TemporaryFolder folder("ui_index");
  RunIndex index({make_run(folder.path(), "a", 16, 1), make_run(folder.path(), "b", 16, 2)});
  index.scan();
  ASSERT_EQ(index.runs().size(), 2);
  EXPECT_EQ(index.runs().begin()->second.name, "1:a");
}

TEST(RunIndex, NamesAFolderThatIsNone) {
  EXPECT_EQ(message_of([] { const RunIndex index({"/no/such"}); }),
            "'/no/such' is no folder; expected one that holds runs, or a run itself");
}

TEST(RunIndex, KeepsWhatHasChanged) {
  const TemporaryFolder folder("ui_index");
  const fs::path a = make_run(folder.path(), "a", 16, 1);
  make_run(folder.path(), "b", 16, 2);
  RunIndex index({folder.path()});
  index.scan();
  const uint64_t before = index.version();
  index.scan();
  EXPECT_EQ(index.version(), before);
  append(a / "metrics.jsonl", step_line(3, 1.25));
  index.scan();
  Json rows = rows_since(index, before, {});
  ASSERT_EQ(rows.at("runs").items().size(), 1);
  EXPECT_EQ(rows.at("runs").items()[0].at("last").at("loss").as_number(), 1.25);
  fs::remove_all(a);
  index.scan();
  rows = rows_since(index, before, {});
  EXPECT_EQ(rows.at("gone").dump(-1), "[\"a\"]");
  EXPECT_TRUE(rows.at("runs").items().empty());
}

TEST(RunIndex, ShowsProblemsOfOneRunAlone) {
  const TemporaryFolder folder("ui_index");
  make_run(folder.path(), "good", 16, 1);
  const fs::path bad = make_run(folder.path(), "bad", 16, 1);
  write_file(bad / "config.yaml", "a: [1\n");
  RunIndex index({folder.path()});
  index.scan();
  EXPECT_EQ(index.find("good")->problem, "");
  EXPECT_NE(index.find("bad")->problem.find("config.yaml"), std::string::npos);
}

TEST(RunState, IsRunningWhileTheFolderIsHeld) {
  const TemporaryFolder folder("ui_index");
  RunIndex index({folder.path()});
  {
    const auto held = runs::RunDirectory::create(folder.path(), "a", "lenet5", "mnist");
    write_file(held.config(), "model: lenet5\n");
    index.scan();
    EXPECT_EQ(index.find("a")->state, RunState::kRunning);
  }
  index.scan();
  EXPECT_EQ(index.find("a")->state, RunState::kStopped);
  write_file(folder.path() / "a" / "model.onnx", "");
  index.scan();
  EXPECT_EQ(index.find("a")->state, RunState::kFinished);
}

TEST(RunState, ReadsTheSystemsLocks) {
  EXPECT_EQ(parse_locks("1: FLOCK  ADVISORY  WRITE 15809 fe:00:9978028 0 EOF\n"
                        "2: POSIX  ADVISORY  WRITE 1 fe:00:7 0 EOF\nnonsense\n"
                        "3: FLOCK  ADVISORY  READ 1 fe:00:8 0 EOF\n"),
            (std::multimap<uint64_t, int64_t>{{9978028, 15809}}));
}

TEST(RunState, BelievesALockOnlyOfWhoHasTheFolderOpen) {
  const TemporaryFolder folder("ui_index");
  struct stat status {};
  ASSERT_EQ(stat(folder.path().c_str(), &status), 0);
  const std::string locks =
      fmt::format("1: FLOCK  ADVISORY  WRITE {} fe:00:{} 0 EOF\n", getpid(), status.st_ino);
  EXPECT_EQ(process_that_holds(folder.path(), locks), std::nullopt);
  const int open_folder = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(process_that_holds(folder.path(), locks), getpid());
  close(open_folder);
}

TEST(RunIndex, FindsRunsOfOthers) {
  const TemporaryFolder folder("ui_index");
  make_run(folder.path(), "ours", 16, 1);
  const fs::path mlflow = folder.path() / "mlruns" / "0" / "abc";
  fs::create_directories(mlflow / "metrics");
  fs::create_directories(mlflow / "params");
  write_file(mlflow / "meta.yaml", "run_name: swift\nstatus: 3\n");
  write_file(mlflow / "metrics" / "loss", "1000 0.5 1\n2000 0.25 2\n");
  write_file(mlflow / "params" / "lr", "0.125");
  fs::create_directories(folder.path() / "lines");
  append(folder.path() / "lines" / "log.jsonl", "{\"loss\":3}\n{\"loss\":2}\n");
  RunIndex index({folder.path()});
  index.scan();
  ASSERT_EQ(index.runs().size(), 3);
  const ui::Run& other = *index.find("mlruns%2F0%2Fabc");
  EXPECT_EQ(name_of(other.source), "mlflow");
  EXPECT_EQ(other.settings.at("lr").as_number(), 0.125);
  EXPECT_EQ(other.recording->last().at("loss"), 0.25);
  EXPECT_EQ(index.find("lines")->recording->last().at("loss"), 2);
}

TEST(RunIndex, ReadsTheRestOfLongFilesLater) {
  const TemporaryFolder folder("ui_index");
  const fs::path run = make_run(folder.path(), "long", 16, 1);
  std::string text;
  for (int i = 3; i <= 6000; ++i) text += i == 500 ? epoch_line(i, 2, 0.9) : step_line(i, 1.0 / i);
  append(run / "metrics.jsonl", text);
  RunIndex index({folder.path()});
  index.scan();
  const runs::Recording& recording = *index.find("long")->recording;
  EXPECT_EQ(recording.last().at("step"), 6000);
  EXPECT_EQ(recording.count(), std::nullopt);
  const uint64_t before = index.version();
  while (index.read_more()) {
  }
  index.scan();
  EXPECT_GT(index.version(), before);
  EXPECT_EQ(recording.count(), 6001);
  EXPECT_EQ(recording.best_top1(), 0.9);
}

// What `train` writes, with as many settings.
std::string many_settings(int seed) {
  std::string text = fmt::format("# made up\nmodel: lenet5\nseed: {}  # of the weights\n", seed);
  for (int i = 0; i < 52; ++i) text += fmt::format("setting_{}: {}  # what it means\n", i, 0.5 * i);
  return text;
}

// Of the processor, since others may keep it busy: 10 MB each would be the same, of which the end
// is read.
TEST(RunIndex, OpensAThousandRunsWithinASecond) {
  const TemporaryFolder folder("ui_index");
  std::string lines;
  for (int i = 3; i <= 10'000; ++i) lines += step_line(i, 1.0 / i);
  const fs::path first = make_run(folder.path(), "run0", 16, 0);
  append(first / "metrics.jsonl", lines);
  for (int i = 0; i < 1000; ++i) {
    const fs::path run = folder.path() / fmt::format("run{}", i);
    fs::create_directories(run);
    write_file(run / "config.yaml", many_settings(i));
    // One file under many names, which costs the disk nothing.
    if (i > 0) fs::create_hard_link(first / "metrics.jsonl", run / "metrics.jsonl");
  }
  RunIndex index({folder.path()});
  const std::clock_t begin = std::clock();
  index.scan();
  EXPECT_EQ(rows_since(index, 0, {}).at("runs").items().size(), 1000);
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
  EXPECT_EQ(index.differing(), (std::vector<std::string>{"seed"}));
}

}  // namespace
}  // namespace trainyard::ui
