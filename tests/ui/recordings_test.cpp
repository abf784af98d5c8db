#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/yaml.h"
#include "runs/events.h"
#include "runs/notes.h"
#include "runs/recordings/event_recording.h"
#include "runs/recordings/metrics_recording.h"
#include "runs/recordings/recording.h"
#include "runs/settings_lines.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "ui/made_runs.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;
using ui::append;
using ui::epoch_line;
using ui::step_line;

TEST(MetricsRecording, ReadsOnlyWholeLines) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, step_line(1, 3) + "{\"step\":2,\"lo");
  MetricsRecording tail(file, MetricsRecording::Lines::kOurs);
  EXPECT_TRUE(tail.update());
  EXPECT_EQ(tail.count(), 1);
  EXPECT_EQ(tail.last().at("loss"), 3);
  append(file, "ss\":2.5}\n");
  EXPECT_TRUE(tail.update());
  EXPECT_EQ(tail.count(), 2);
  EXPECT_EQ(tail.last().at("loss"), 2.5);
  EXPECT_FALSE(tail.update());
  EXPECT_EQ(tail.problem(), "");
}

TEST(MetricsRecording, BeginsAgainWhereAResumeHasCut) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, step_line(1, 3) + epoch_line(2, 1, 0.9));
  MetricsRecording tail(file, MetricsRecording::Lines::kOurs);
  tail.update();
  const uint64_t generation = tail.generation();
  EXPECT_EQ(tail.best_top1(), 0.9);
  fs::resize_file(file, step_line(1, 3).size());
  append(file, epoch_line(2, 1, 0.4) + step_line(3, 1) + step_line(4, 0.5));
  EXPECT_TRUE(tail.update());
  EXPECT_EQ(tail.generation(), generation + 1);
  EXPECT_EQ(tail.best_top1(), 0.4);
  EXPECT_EQ(tail.count(), 4);
  EXPECT_EQ(tail.size(), static_cast<int64_t>(fs::file_size(file)));
}

TEST(MetricsRecording, GoesOnBehindLinesThatAreNone) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  append(file, "nonsense\n[1]\n{\"loss\":1}\n" + step_line(4, 0.5));
  MetricsRecording tail(file, MetricsRecording::Lines::kOurs);
  tail.update();
  EXPECT_EQ(tail.problem(), "metrics.jsonl: 3 lines are no objects with a step");
  EXPECT_EQ(tail.last().at("loss"), 0.5);
}

TEST(MetricsRecording, FollowsNoLink) {
  const TemporaryFolder folder("ui_index");
  append(folder.path() / "secret", step_line(1, 42));
  fs::create_symlink(folder.path() / "secret", folder.path() / "metrics.jsonl");
  MetricsRecording tail(folder.path() / "metrics.jsonl", MetricsRecording::Lines::kOurs);
  tail.update();
  EXPECT_EQ(tail.count(), 0);
}

TEST(MetricsRecording, FindsTheBestOfManyLines) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  std::string text;
  for (int i = 1; i <= 5000; ++i) {
    text += i == 700 ? epoch_line(i, 1, 0.8) : step_line(i, 5000 - i);
  }
  append(file, text + epoch_line(5001, 2, 0.6));
  MetricsRecording tail(file, MetricsRecording::Lines::kOurs);
  tail.update();
  EXPECT_EQ(tail.last().at("loss"), 0);
  while (!tail.read_more(10'000)) {
  }
  EXPECT_EQ(tail.count(), 5001);
  EXPECT_EQ(tail.best_top1(), 0.8);
  EXPECT_EQ(tail.last().at("test_top1"), 0.6);
  EXPECT_EQ(tail.last().at("loss"), 0);
}

TEST(MetricsRecording, KeepsTheLastNumbersOfTheMiddle) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  std::string text = epoch_line(1, 1, 0.5);
  for (int i = 2; i <= 5000; ++i) text += i == 2000 ? epoch_line(i, 2, 0.25) : step_line(i, i);
  append(file, text);
  MetricsRecording recording(file, MetricsRecording::Lines::kOurs);
  recording.update();
  while (!recording.read_more(20'000)) {
  }
  EXPECT_EQ(recording.last().at("test_top1"), 0.25);
  EXPECT_EQ(recording.last().at("loss"), 5000);
  EXPECT_EQ(recording.best_top1(), 0.5);
}

TEST(MetricsRecording, TakesLinesOfOthers) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "log.jsonl";
  append(file, "{\"_step\":7,\"loss\":1}\n{\"loss\":2,\"name\":\"x\"}\n[]\n");
  MetricsRecording recording(file, MetricsRecording::Lines::kOfOthers);
  recording.update();
  const Numbers all = recording.numbers(0, 0);
  ASSERT_EQ(all.lines.size(), 2);
  EXPECT_EQ(all.lines[0].at("step").as_int(), 7);
  EXPECT_EQ(all.lines[1].dump(-1), "{\"loss\":2,\"step\":1}");
}

TEST(MetricsRecording, AnswersAPieceOfManyBadLines) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "metrics.jsonl";
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "{\"step\"}\n";
  append(file, text + step_line(1, 0.5));
  const MetricsRecording recording(file, MetricsRecording::Lines::kOurs);
  int64_t at = 0;
  int answers = 0;
  Numbers numbers;
  for (numbers.more = true; numbers.more; ++answers) {
    numbers = recording.numbers(recording.generation(), at);
    at = numbers.next;
  }
  EXPECT_EQ(answers, 4);
  ASSERT_EQ(numbers.lines.size(), 1);
  EXPECT_EQ(numbers.lines[0].at("loss").as_number(), 0.5);
}

TEST(MetricsRecording, HasNothingBehindTheEndOfTheFile) {
  const TemporaryFolder folder("ui_index");
  const fs::path file = folder.path() / "log.jsonl";
  append(file, "{\"_step\":1e300,\"loss\":1}\n");
  MetricsRecording recording(file, MetricsRecording::Lines::kOfOthers);
  recording.update();
  EXPECT_EQ(recording.numbers(0, 0).lines[0].at("step").as_int(), 0);
  const uint64_t generation = recording.generation();
  EXPECT_TRUE(recording.numbers(generation, int64_t{1} << 62).lines.empty());
}

TEST(EventRecording, ReadsWhatWeWriteForTensorBoard) {
  const TemporaryFolder folder("ui_index");
  EventWriter writer(folder.path(), 0);
  const Scalar scalars[] = {{"train/loss", 0.5}, {"test/top1", 0.75}};
  writer.write(1, scalars);
  EventRecording recording(folder.path());
  EXPECT_TRUE(recording.update());
  EXPECT_FALSE(recording.update());
  EXPECT_EQ(recording.last().at("test/top1"), 0.75);
  EXPECT_EQ(recording.count(), 2);
  const Numbers first = recording.numbers(0, 0);
  ASSERT_EQ(first.lines.size(), 2);
  EXPECT_EQ(first.lines[0].at("train/loss").as_number(), 0.5);
  writer.write(2, std::span(scalars, 1));
  EXPECT_TRUE(recording.update());
  const Numbers next = recording.numbers(recording.generation(), first.next);
  ASSERT_EQ(next.lines.size(), 1);
  EXPECT_EQ(next.lines[0].at("step").as_int(), 2);
}

TEST(EventRecording, SaysWhereAFileIsDamaged) {
  const TemporaryFolder folder("ui_index");
  write_file(folder.path() / "events.out.tfevents.1.x", std::string(40, 'x'));
  EventRecording recording(folder.path());
  recording.update();
  EXPECT_EQ(recording.problem(), "events.out.tfevents.1.x: damaged at byte 0");
}

TEST(SettingsLines, ReadAsTheParserOfWholeFilesDoes) {
  SettingsLines lines;
  for (const char* text :
       {"a: 1\nb: 'x: y'  # help\n\n# all\nc: null\nd: [1, 2]\n", "a: |\n  two\n  lines\nb: 2\n",
        "a:\n  b: 1\n", "a: \"x\n  y\"\n", "a: {b: 1,\n  c: 2}\nd: 3\n", "? a\n: 1\n",
        "a: 1\n  b\n", "a: 1e-3\nb: true\nc: ~\nd: 1080\ne: '1080'\n"}) {
    const Json expected = YamlDocument::parse_without_aliases(text, "config.yaml")->json();
    EXPECT_EQ(lines.parse(text, "config.yaml").dump(-1), expected.dump(-1)) << text;
  }
  for (const char* text : {"a: 1\na: 2\n", "a: &x 1\nb: *x\n", "a: [1\n", "a\n", "- a\n"}) {
    EXPECT_THROW(lines.parse(text, "config.yaml"), Error) << text;
  }
}

TEST(Notes, AreWrittenAndReadBack) {
  const TemporaryFolder folder("ui_index");
  EXPECT_TRUE(read_notes(folder.path()).tags.empty());
  write_notes(folder.path(), {.tags = {"good"}, .text = "two\nlines"});
  const Notes notes = read_notes(folder.path());
  EXPECT_EQ(notes.tags, std::vector<std::string>{"good"});
  EXPECT_EQ(notes.text, "two\nlines");
  EXPECT_EQ(message_of([&] { write_notes(folder.path(), {.tags = {"a b"}, .text = ""}); }),
            "'a b' is no tag: expected 1 to 64 letters without spaces and commas");
}

}  // namespace
}  // namespace trainyard::runs
