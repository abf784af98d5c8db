// Signals to commands that start others.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/file_size_limit.h"
#include "support/started_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

// Much longer than a test.
const std::vector<std::string> kLongScale = {
    TY_PROGRAM,  "scale", "--model",   "lenet5", "--data",  "synthetic:1x28x28,classes=4,size=64",
    "--batches", "4",     "--workers", "2",      "--steps", "1000000"};

TEST(Signals, AScaleStudyStopsWheneverItIsAsked) {
  const TemporaryFolder folder("signals");
  // From before there are ranks to when they compute.
  for (const int wait_ms : {0, 20, 100, 250, 600, 1500}) {
    StartedProgram scale(kLongScale, folder / "log");
    ASSERT_TRUE(eventually([&] { return scale.has_child(); })) << scale.words();
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    kill(scale.process(), wait_ms % 200 == 0 ? SIGTERM : SIGINT);
    EXPECT_EQ(scale.wait(Seconds(30)), 1) << wait_ms << ": " << scale.words();
    EXPECT_NE(scale.words().find("stopped; nothing is kept"), std::string::npos) << scale.words();
  }
}

// mpirun waits for a rank that died as it started. One that waits for anything is in its place.
TEST(Signals, AScaleStudyDoesNotWaitForALauncherThatHangs) {
  const TemporaryFolder folder("signals");
  write_file(folder / "mpirun", fmt::format("#!/bin/sh\ntrap '' TERM INT USR1\ntouch {}\n"
                                            "while :; do sleep 0.2; done\n",
                                            (folder / "deaf").string()));
  fs::permissions(folder / "mpirun", fs::perms::owner_all);
  StartedProgram scale(kLongScale, folder / "log", folder.path().string());
  ASSERT_TRUE(eventually([&] { return fs::exists(folder / "deaf"); })) << scale.words();
  kill(scale.process(), SIGTERM);
  EXPECT_EQ(scale.wait(Seconds(20)), 1) << scale.words();
  EXPECT_NE(scale.words().find("stopped; nothing is kept"), std::string::npos) << scale.words();
}

// As mpirun does when its ranks died as they started.
TEST(Launch, ALauncherWithoutRanksIsNotWaitedFor) {
  const TemporaryFolder folder("signals");
  write_file(folder / "mpirun", "#!/bin/sh\ntrap '' TERM INT USR1\nexec sleep 1000\n");
  fs::permissions(folder / "mpirun", fs::perms::owner_all);
  StartedProgram training({TY_PROGRAM, "train", "--data", "synthetic:1x28x28,classes=4,size=64",
                           "--workers", "2", "--runs-dir", folder / "runs"},
                          folder / "log", folder.path().string());
  EXPECT_EQ(training.wait(Seconds(60)), 1) << training.words();
  EXPECT_NE(training.words().find("ranks that died as they started"), std::string::npos)
      << training.words();
}

TEST(Launch, AFileSizeLimitBelowWhatMpiNeedsIsSaid) {
  const TemporaryFolder folder("signals");
  const FileSizeLimit limit(1 << 20);
  StartedProgram training({TY_PROGRAM, "train", "--data", "synthetic:1x28x28,classes=4,size=64",
                           "--workers", "2", "--runs-dir", folder / "runs"},
                          folder / "log");
  EXPECT_EQ(training.wait(Seconds(60)), 1) << training.words();
  EXPECT_NE(training.words().find("at most 1.00 MiB here (ulimit -f)"), std::string::npos)
      << training.words();
}

// However little it says, a stopped run says how to resume it.
TEST(Signals, QuietAgentsSayHowToResume) {
  for (const char* actors : {"0", "1"}) {
    const TemporaryFolder folder("signals");
    StartedProgram agents(
        {TY_PROGRAM, "rl", "train", "--quiet", "--steps", "100000000", "--actors", actors,
         "--log-every", "100", "--runs-dir", folder / "runs", "--name", "a"},
        folder / "log");
    const fs::path metrics = folder / "runs/a/metrics.jsonl";
    ASSERT_TRUE(eventually([&] { return fs::exists(metrics) && fs::file_size(metrics) > 0; }))
        << agents.words();
    kill(agents.process(), SIGTERM);
    EXPECT_EQ(agents.wait(Seconds(30)), 1) << agents.words();
    EXPECT_NE(agents.words().find("resume with: trainyard rl train --resume"), std::string::npos)
        << agents.words();
  }
}

// A lab of one step that would train for hours.
std::vector<std::string> long_lab(const TemporaryFolder& folder) {
  write_file(folder / "long.yaml",
             "title: Long\nquestion: How long?\nsteps:\n  - name: training\n    run: train --model "
             "lenet5 --data synthetic:1x28x28,classes=4,size=96 --batch 24 --epochs 100000 "
             "--checkpoint-every 2 --threads 1 --runs-dir {cell} --name run\nreport: []\n");
  return {TY_PROGRAM, "lab", "run", folder / "long.yaml", "--runs-dir", folder / "runs"};
}

TEST(Signals, ALabStopsItsCommandWhichSaves) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const TemporaryFolder folder("signals");
    StartedProgram lab(long_lab(folder), folder / "log");
    fs::path checkpoint;
    ASSERT_TRUE(eventually([&] {
      if (!fs::exists(folder / "runs")) return false;
      for (const auto& entry : fs::recursive_directory_iterator(folder / "runs")) {
        if (entry.path().filename() == "latest.safetensors") checkpoint = entry.path();
      }
      return !checkpoint.empty();
    })) << lab.words();
    kill(lab.process(), signal);
    EXPECT_EQ(lab.wait(Seconds(20)), 1) << lab.words();
    EXPECT_NE(lab.words().find("stopped; what is done is kept in"), std::string::npos)
        << lab.words();
  }
}

}  // namespace
}  // namespace trainyard::cli
