#include <ctime>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runs/run_directory.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "ui/answers.h"
#include "ui/made_runs.h"
#include "ui/run_index.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;

TEST(MetricsTail, ReadsOnlyWholeLines) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, step_line(1, 3) + "{\"step\":2,\"lo");
  MetricsTail tail;
  EXPECT_TRUE(tail.update(file));
  EXPECT_EQ(tail.lines(), 1);
  EXPECT_EQ(tail.last().at("loss"), 3);
  append(file, "ss\":2.5}\n");
  EXPECT_TRUE(tail.update(file));
  EXPECT_EQ(tail.lines(), 2);
  EXPECT_EQ(tail.last().at("loss"), 2.5);
  EXPECT_FALSE(tail.update(file));
  EXPECT_EQ(tail.bad_lines(), 0);
}

TEST(MetricsTail, BeginsAgainWhereAResumeHasCut) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, step_line(1, 3) + epoch_line(2, 1, 0.9));
  MetricsTail tail;
  tail.update(file);
  const uint64_t generation = tail.generation();
  EXPECT_EQ(tail.best_top1(), 0.9);
  fs::resize_file(file, step_line(1, 3).size());
  append(file, epoch_line(2, 1, 0.4) + step_line(3, 1) + step_line(4, 0.5));
  EXPECT_TRUE(tail.update(file));
  EXPECT_EQ(tail.generation(), generation + 1);
  EXPECT_EQ(tail.best_top1(), 0.4);
  EXPECT_EQ(tail.lines(), 4);
  EXPECT_EQ(tail.size(), static_cast<int64_t>(fs::file_size(file)));
}

TEST(MetricsTail, GoesOnBehindLinesThatAreNone) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, "nonsense\n[1]\n{\"loss\":1}\n" + step_line(4, 0.5));
  MetricsTail tail;
  tail.update(file);
  EXPECT_EQ(tail.bad_lines(), 3);
  EXPECT_EQ(tail.last().at("loss"), 0.5);
}

TEST(MetricsTail, FollowsNoLink) {
  const TemporaryFolder folder("ui_index");
  append(folder.path() / "secret", step_line(1, 42));
  fs::create_symlink(folder.path() / "secret", folder.path() / "metrics.jsonl");
  MetricsTail tail;
  tail.update(folder.path() / "metrics.jsonl");
  EXPECT_EQ(tail.lines(), 0);
}

TEST(MetricsTail, FindsTheBestOfManyLines) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  std::string text;
  for (int i = 1; i <= 5000; ++i) {
    text += i == 700 ? epoch_line(i, 1, 0.8) : step_line(i, 5000 - i);
  }
  append(file, text + epoch_line(5001, 2, 0.6));
  MetricsTail tail;
  tail.update(file);
  EXPECT_EQ(tail.lines(), 5001);
  EXPECT_EQ(tail.best_top1(), 0.8);
  EXPECT_EQ(tail.last().at("test_top1"), 0.6);
  EXPECT_EQ(tail.last().at("loss"), 0);
}

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
  Json rows = rows_since(index, before);
  ASSERT_EQ(rows.at("runs").items().size(), 1);
  EXPECT_EQ(rows.at("runs").items()[0].at("last").at("loss").as_number(), 1.25);
  fs::remove_all(a);
  index.scan();
  rows = rows_since(index, before);
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
            std::set<uint64_t>{9978028});
}

// Of the processor, since others may keep it busy.
TEST(RunIndex, OpensAThousandRunsWithinASecond) {
  const TemporaryFolder folder("ui_index");
  std::string lines;
  for (int i = 1; i <= 100; ++i) lines += step_line(i, 1.0 / i);
  for (int i = 0; i < 1000; ++i) {
    append(make_run(folder.path(), fmt::format("run{}", i), 16 + i % 4, i) / "metrics.jsonl",
           lines);
  }
  RunIndex index({folder.path()});
  const std::clock_t begin = std::clock();
  index.scan();
  EXPECT_EQ(rows_since(index, 0).at("runs").items().size(), 1000);
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace trainyard::ui
