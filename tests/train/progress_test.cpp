#include "train/progress.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

namespace trainyard::train {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  // 30 steps of 2 epochs, one second each, then a note.
  std::string run(Progress::Mode mode) {
    now_ = 100;
    out_.str("");
    {
      Progress progress(out_, mode, [this] { return now_; });
      for (int64_t step = 1; step <= 30; ++step) {
        now_ += 1;
        progress.step({.epoch = 1,
                       .epochs = 2,
                       .step = step,
                       .steps = 40,
                       .images = 128,
                       .loss = 2.5,
                       .scores = {{.name = "accuracy", .value = 0.1234, .is_share = true},
                                  {.name = "error", .value = 0.25}},
                       .wait_seconds = 0.05});
      }
      progress.note("epoch 1 done");
    }
    return out_.str();
  }

  double now_ = 0;
  std::ostringstream out_;
};

TEST_F(ProgressTest, ElsewhereALineNowAndThen) {
  const std::string text = run(Progress::Mode::kLines);
  // 30 steps took 30 s, so 10 of this epoch and 40 of the next take 50 s.
  const std::string last =
      "epoch 1/2 step 30/40 loss 2.5000 accuracy 12.34% error 0.2500 128 images/s wait 5.0% ETA 50 "
      "s mem ";
  EXPECT_NE(text.find(last), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nepoch 1 done\n"));
}

TEST_F(ProgressTest, OnATerminalOneLineIsRewritten) {
  const std::string text = run(Progress::Mode::kTerminal);
  EXPECT_NE(text.find("\r\x1b[Kepoch 1/2 step 30/40"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 30);
  EXPECT_TRUE(text.ends_with("\r\x1b[Kepoch 1 done\n"));
}

// Where stderr is no terminal, as here, 80 columns are meant.
TEST_F(ProgressTest, InEightyColumnsTheTimeLeftIsShownWhole) {
  const std::string text = run(Progress::Mode::kTerminal);
  const std::string last = text.substr(text.rfind("epoch 1/2"));
  const std::string line = last.substr(0, last.find('\r'));
  EXPECT_LT(line.size(), 80U) << line;
  EXPECT_NE(line.find(" ETA 50 s"), std::string::npos) << line;
  EXPECT_NE(line.find("loss 2.5000 accuracy 12.34% error 0.2500"), std::string::npos) << line;
}

TEST_F(ProgressTest, ThereIsABarWhereItHasRoom) {
  ::setenv("COLUMNS", "120", /*overwrite=*/1);
  now_ = 0;
  Progress progress(out_, Progress::Mode::kTerminal, [this] { return now_; });
  now_ = 1;
  progress.step({.epoch = 1, .epochs = 2, .step = 2, .steps = 4, .images = 8, .loss = 1});
  ::unsetenv("COLUMNS");
  EXPECT_TRUE(out_.str().starts_with("epoch 1/2 [##########          ] step 2/4")) << out_.str();
}

TEST_F(ProgressTest, QuietIsSilent) {
  EXPECT_EQ(run(Progress::Mode::kQuiet), "");
  EXPECT_EQ(Progress::mode_for_stderr(/*quiet=*/true), Progress::Mode::kQuiet);
}

TEST_F(ProgressTest, AnUnknownAccuracyIsNotShown) {
  Progress progress(out_, Progress::Mode::kLines, [this] { return now_; });
  now_ = 20;
  progress.step({.step = 1, .steps = 1, .images = 1});
  EXPECT_EQ(out_.str().find("acc"), std::string::npos);
  EXPECT_NE(out_.str().find("ETA 0 s"), std::string::npos) << out_.str();
}

}  // namespace
}  // namespace trainyard::train
