// Runs of several processes, some of which are killed or stopped.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <sys/wait.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "runs/checkpoint.h"
#include "runs/metrics.h"
#include "support/run_program.h"
#include "support/started_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

// A run of the program with workers.
class WorkerJob : public StartedProgram {
 public:
  WorkerJob(const fs::path& root, const std::vector<std::string>& more,
            const std::string& name = "run")
      : StartedProgram(command(root, name, more), root / (name + ".stderr")),
        root_(root),
        name_(name) {}

  fs::path directory() const { return root_ / name_; }

  // The process of a rank, once there is a checkpoint.
  pid_t rank(int64_t rank) const {
    const fs::path latest = directory() / "checkpoints" / "latest.safetensors";
    EXPECT_TRUE(eventually([&] { return fs::exists(latest); })) << words();
    const std::string sign = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      std::error_code problem;
      if (fs::read_symlink(entry.path() / "exe", problem) != fs::path(TY_PROGRAM)) continue;
      if (!holds(entry.path() / "cmdline", root_.string())) continue;
      if (holds(entry.path() / "environ", sign)) return std::stoi(entry.path().filename());
    }
    // Not a number that could be given to kill().
    throw std::runtime_error("there is no rank " + std::to_string(rank) + ": " + words());
  }

 private:
  static std::vector<std::string> command(const fs::path& root, const std::string& name,
                                          const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        TY_PROGRAM,    "train",  "--model",
        "lenet5",      "--data", "synthetic:1x28x28,classes=4,size=96",
        "--batch",     "24",     "--runs-dir",
        root.string(), "--name", name,
        "--quiet",     "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static bool holds(const fs::path& file, const std::string& text) {
    std::ifstream in(file, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    // Words end with a zero.
    return all.find(text + '\0') != std::string::npos;
  }

  fs::path root_;
  std::string name_;
};

// Without end, for this purpose.
const std::vector<std::string> kLong = {"--epochs", "100000", "--checkpoint-every", "2"};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(TrainWorkers, AKilledWorkerEndsTheRunAndIsNamedByAll) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(), joined(kLong, {"--workers", "3"}));
  const pid_t victim = job.rank(1);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  EXPECT_EQ(job.wait(Seconds(10)), 1) << job.words();
  for (const int rank : {0, 2}) {
    const std::string notice = "rank 1 (process " + std::to_string(victim) +
                               ") has ended unexpectedly; rank " + std::to_string(rank) + " stops";
    EXPECT_NE(job.words().find(notice), std::string::npos) << job.words();
  }
  const runs::Checkpoint checkpoint(job.directory() / "checkpoints" / "latest.safetensors");
  EXPECT_GE(checkpoint.info().step, 2);
}

TEST(TrainWorkers, RestartsGoOnBitByBit) {
  const TemporaryFolder folder("workers");
  const std::vector<std::string> settings = {"--epochs", "20",        "--checkpoint-every",
                                             "2",        "--workers", "2"};
  WorkerJob whole(folder.path(), settings, "whole");
  ASSERT_EQ(whole.wait(), 0) << whole.words();
  WorkerJob killed(folder.path(), joined(settings, {"--restarts", "1"}), "killed");
  kill(killed.rank(1), SIGKILL);
  ASSERT_EQ(killed.wait(), 0) << killed.words();
  EXPECT_NE(killed.words().find("restart 1 of 1 with 2 workers"), std::string::npos);
  EXPECT_EQ(read_file(whole.directory() / "model.safetensors"),
            read_file(killed.directory() / "model.safetensors"));
}

TEST(TrainWorkers, AnElasticRunGoesOnWithTheSurvivors) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(), {"--epochs", "20", "--checkpoint-every", "2", "--workers", "3",
                                "--restarts", "1", "--elastic"});
  kill(job.rank(0), SIGKILL);
  ASSERT_EQ(job.wait(), 0) << job.words();
  EXPECT_NE(job.words().find("restart 1 of 1 with 2 workers"), std::string::npos);
  const std::vector<Json> lines = runs::read_metrics(job.directory() / "metrics.jsonl");
  EXPECT_EQ(lines[lines.size() - 2].at("workers").items().size(), 2U);
  EXPECT_EQ(lines.back().at("step").as_int(), 20 * 4);
}

TEST(TrainWorkers, AStoppedWorkerIsNamedWithWhatItIsLateFor) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(),
                joined(kLong, {"--workers", "2", "--stall-warning", "0.5", "--wait-limit", "3"}));
  const pid_t victim = job.rank(1);
  kill(victim, SIGSTOP);
  const std::string name = fmt::format("rank 1 (process {} is stopped) at: ", victim);
  EXPECT_TRUE(eventually([&] { return job.words().find(name) != std::string::npos; }, Seconds(10)))
      << job.words();
  // It may go on: nothing is lost.
  kill(victim, SIGCONT);
  const auto steps = [&] { return runs::read_metrics(job.directory() / "metrics.jsonl").size(); };
  const size_t before = steps();
  EXPECT_TRUE(eventually([&] { return steps() > before + 10; })) << job.words();
  // It does not.
  kill(victim, SIGSTOP);
  EXPECT_EQ(job.wait(Seconds(15)), 1) << job.words();
  EXPECT_NE(job.words().find("rank 0 waited 3 s for"), std::string::npos) << job.words();
}

// In a ring of four, ranks 2, 3 and 0 wait for their neighbors.
TEST(TrainWorkers, AllNameTheStoppedWorkerOfARing) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(), joined(kLong, {"--workers", "4", "--all-reduce", "ring",
                                              "--stall-warning", "0.5"}));
  const pid_t victim = job.rank(1);
  kill(victim, SIGSTOP);
  for (const int rank : {0, 2, 3}) {
    const std::regex notice(fmt::format(
        "rank {} has waited \\d+ s for rank 1 \\(process {} is stopped\\)", rank, victim));
    EXPECT_TRUE(eventually([&] { return std::regex_search(job.words(), notice); }, Seconds(20)))
        << job.words();
  }
  kill(victim, SIGKILL);
  EXPECT_EQ(job.wait(Seconds(20)), 1) << job.words();
}

TEST(TrainWorkers, AnInterruptSavesAndStopsAllWorkers) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(), joined(kLong, {"--workers", "2"}));
  job.rank(1);
  kill(job.process(), SIGINT);
  EXPECT_EQ(job.wait(Seconds(20)), 1) << job.words();
  // It was saved where it stopped, not where the last epoch ended, and goes on from there.
  const std::regex notice("stopped after step (\\d+); resume with");
  std::smatch found;
  const std::string words = job.words();
  ASSERT_TRUE(std::regex_search(words, found, notice)) << words;
  const int64_t stopped = std::stoll(found[1].str());
  const fs::path latest = job.directory() / "checkpoints" / "latest.safetensors";
  EXPECT_EQ(runs::Checkpoint(latest).info().step, stopped);
  const Outcome resumed = run({"train", "--resume", job.directory(), "--workers", "1",
                               "--max-steps", std::to_string(stopped + 3), "--quiet", "--json"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(runs::Checkpoint(latest).info().step, stopped + 3);
  const std::vector<Json> lines = runs::read_metrics(job.directory() / "metrics.jsonl");
  EXPECT_EQ(lines.back().at("step").as_int(), stopped + 3);
}

// A worker that hangs keeps the others from saving; nobody waits for it a second time.
TEST(TrainWorkers, ASecondSignalEndsAtOnce) {
  const TemporaryFolder folder("workers");
  WorkerJob job(folder.path(), joined(kLong, {"--workers", "2"}));
  const pid_t stuck = job.rank(1);
  kill(stuck, SIGSTOP);
  kill(job.process(), SIGINT);
  EXPECT_EQ(job.wait(Seconds(1)), -1) << job.words();
  kill(job.process(), SIGINT);
  EXPECT_EQ(job.wait(Seconds(2)), 128 + SIGINT) << job.words();
  EXPECT_TRUE(eventually([&] { return kill(stuck, 0) != 0; }, Seconds(20)));
}

// mpirun passes on no signal that comes before it has started the ranks.
TEST(TrainWorkers, AnInterruptBeforeTheWorkersListenIsNotLost) {
  const auto stop_early = [](int signal, const std::vector<std::string>& more) {
    const TemporaryFolder folder("workers");
    WorkerJob job(folder.path(), joined(kLong, joined({"--threads", "1", "--workers", "2"}, more)));
    ASSERT_TRUE(eventually([&] { return job.has_child(); }));
    kill(job.process(), signal);
    EXPECT_EQ(job.wait(Seconds(30)), 1) << job.words();
    EXPECT_NE(job.words().find("trainyard: stopped "), std::string::npos) << job.words();
  };
  stop_early(SIGTERM, {});
  stop_early(SIGINT, {"--servers", "1"});
}

// Ranks 0 and 1 are workers, 2 is the server.
TEST(TrainWorkers, AKilledParentLeavesNobodyBehind) {
  const TemporaryFolder root("workers");
  WorkerJob job(root.path(), {"--workers", "2", "--epochs", "100000"});
  const pid_t rank = job.rank(1);
  kill(job.process(), SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return kill(rank, 0) != 0; }, Seconds(20)));
}

TEST(TrainServers, KilledAndStoppedRanksAreNamed) {
  struct Case {
    int signal;
    int rank;
  };
  for (const auto& [signal, rank] :
       {Case{SIGKILL, 1}, Case{SIGKILL, 2}, Case{SIGSTOP, 1}, Case{SIGSTOP, 2}}) {
    const TemporaryFolder folder("servers");
    WorkerJob job(folder.path(), {"--epochs", "100000", "--threads", "1", "--workers", "2",
                                  "--servers", "1", "--sync", "async", "--wait-limit", "6"});
    const pid_t victim = job.rank(rank);
    ASSERT_EQ(kill(victim, signal), 0);
    EXPECT_EQ(job.wait(Seconds(30)), 1) << job.words();
    const std::string words = job.words();
    const bool named = words.find("rank " + std::to_string(rank)) != std::string::npos ||
                       words.find("worker " + std::to_string(rank)) != std::string::npos;
    EXPECT_TRUE(named) << words;
  }
}

TEST(TrainServers, RestartsGoOnBitByBit) {
  const TemporaryFolder folder("servers");
  const std::vector<std::string> settings = {"--epochs",  "20", "--threads", "1",
                                             "--workers", "2",  "--servers", "2"};
  WorkerJob whole(folder.path(), settings, "whole");
  ASSERT_EQ(whole.wait(), 0) << whole.words();
  WorkerJob killed(folder.path(), joined(settings, {"--restarts", "1"}), "killed");
  kill(killed.rank(3), SIGKILL);
  ASSERT_EQ(killed.wait(), 0) << killed.words();
  EXPECT_EQ(read_file(whole.directory() / "model.safetensors"),
            read_file(killed.directory() / "model.safetensors"));
}

TEST(TrainWorkers, WorkersWithOtherSettingsAreRefused) {
  const TemporaryFolder folder("workers");
  const std::string each = fmt::format(
      "-n 1 {} train --model lenet5 --data synthetic:1x28x28,classes=4,size=96 --batch 24 "
      "--runs-dir "
      "{} "
      "--quiet --seed ",
      TY_PROGRAM, folder.path().string());
  const std::string command = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --quiet "
      "--oversubscribe {} 1 : {} 2 > {} 2>&1",
      each, each, (folder.path() / "words").string());
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(
      read_file(folder.path() / "words").find("rank 1 has 'seed: 2', but rank 0 has 'seed: 1'"),
      std::string::npos)
      << read_file(folder.path() / "words");
}

TEST(TrainWorkers, WhatRanksSayOfNamesIsEscaped) {
  const TemporaryFolder folder("workers");
  const fs::path words = folder.path() / "words";
  const std::string command = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --quiet --oversubscribe -n "
      "2 {} train --model \"$(printf 'net\\033[31m')\" --data synthetic:1x28x28 --runs-dir {} "
      "> {} 2>&1",
      TY_PROGRAM, folder.path().string(), words.string());
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  const std::string said = read_file(words);
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
  EXPECT_NE(said.find("net\\x1b[31m"), std::string::npos) << said;
}

TEST(TrainWorkers, ExplainsWhatCrossesTheNetwork) {
  const Outcome outcome =
      run({"train", "--model", "resnet20-cifar", "--data", "synthetic:3x32x32,classes=10,size=512",
           "--workers", "4", "--sync-bn", "--explain-comm", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = Json::parse(outcome.out, "output");
  // 269,722 parameters (He et al. 2015, table 6: 0.27M).
  int64_t gradients = 0;
  int64_t parameters = 0;
  for (const Json& message : data.at("messages").items()) {
    const std::string what = message.at("what").as_string();
    if (what.starts_with("gradients")) gradients += message.at("bytes").as_int();
    if (what == "initial parameters") parameters = message.at("bytes").as_int();
  }
  EXPECT_EQ(gradients, 4 * 269'722);
  EXPECT_EQ(parameters, gradients);
  EXPECT_EQ(data.at("only_gradients").items().size(), 6U);
}

}  // namespace
}  // namespace trainyard::cli
