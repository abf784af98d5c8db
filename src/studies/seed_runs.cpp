#include "studies/seed_runs.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "studies/study.h"
#include "train/training_network.h"
#include "train/training_set.h"

namespace trainyard::recipes {
namespace {

constexpr int kWrongRequest = 2;  // as docs/errors.md has it

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(100);

struct Training {
  int64_t seed = 0;
  std::unique_ptr<ChildProcess> process;
};

std::vector<std::string> command_for(const SeedRunsOptions& options, int64_t seed,
                                     int64_t threads) {
  const fs::path run = seed_folder(options.folder, seed);
  std::vector<std::string> command = {options.program, "train"};
  if (fs::exists(run / "config.yaml")) {
    command.insert(command.end(), {"--resume", run.string()});
  } else {
    // Of a process that was killed before it began.
    fs::remove_all(run);
    command.insert(command.end(), {"--config", (options.folder / "study.yaml").string(), "--seed",
                                   fmt::format("{}", seed), "--runs-dir", options.folder.string(),
                                   "--name", run.filename().string()});
  }
  command.insert(command.end(), {"--threads", fmt::format("{}", threads), "--json"});
  if (options.quiet) command.emplace_back("--quiet");
  return command;
}

class SeedRuns {
 public:
  SeedRuns(const SeedRunsOptions& options, int64_t threads) : options_(options), threads_(threads) {
    for (const int64_t seed : options.seeds) {
      if (!is_finished(seed_folder(options.folder, seed))) waiting_.push_back(seed);
    }
    std::reverse(waiting_.begin(), waiting_.end());
  }

  void run() {
    while (!waiting_.empty() || !running_.empty()) {
      while (!waiting_.empty() && static_cast<int64_t>(running_.size()) < options_.side_by_side) {
        start(waiting_.back());
        waiting_.pop_back();
      }
      std::this_thread::sleep_for(kLook);
      if (options_.should_stop && options_.should_stop()) {
        stop_all();
        throw_failure("stopped; run the same command again to resume with what is in {}",
                      options_.folder.string());
      }
      collect();
    }
  }

 private:
  fs::path log_of(int64_t seed) const { return options_.folder / fmt::format("seed-{}.log", seed); }

  void start(int64_t seed) {
    // One alone shows its progress as `train` does.
    ChildOptions child{.own_group = true};
    if (options_.side_by_side > 1) child.log = log_of(seed);
    running_.push_back(
        {seed, std::make_unique<ChildProcess>(command_for(options_, seed, threads_), child)});
  }

  // Its output ends with it; what it says there is in its run directory too.
  static bool has_ended(const Training& training) {
    std::string output;
    while (training.process->read_some(output, 0)) {
      if (output.empty()) return false;
      output.clear();
    }
    return true;
  }

  void collect() {
    for (size_t i = 0; i < running_.size();) {
      if (!has_ended(running_[i])) {
        ++i;
        continue;
      }
      const Training ended = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
      finish(ended);
    }
  }

  void finish(const Training& training) {
    const int code = training.process->wait();
    if (code != 0) {
      stop_all();
      TY_REQUIRE(code != kWrongRequest, "the training with seed {} refused the request (see above)",
                 training.seed);
      throw_failure("the training with seed {} ended with exit code {}{}", training.seed, code,
                    options_.side_by_side > 1 ? "; see " + log_of(training.seed).string() : "");
    }
    if (options_.note) options_.note(fmt::format("seed {} has ended", training.seed));
  }

  // They save what they have.
  void stop_all() {
    for (const Training& training : running_) training.process->send(SIGTERM);
    for (const Training& training : running_) training.process->wait();
    running_.clear();
  }

  const SeedRunsOptions& options_;
  int64_t threads_;
  std::vector<int64_t> waiting_;
  std::vector<Training> running_;
};

}  // namespace

fs::path seed_folder(const fs::path& study, int64_t seed) {
  return study / fmt::format("seed-{}", seed);
}

void train_seeds(const train::TrainConfig& config, const SeedRunsOptions& options) {
  TY_REQUIRE(options.side_by_side >= 1, "{} trainings at once, expected 1 or more",
             options.side_by_side);
  // What each training would refuse is refused here, once.
  train::build_training_network(config, *train::open_set(config, data::Split::kTrain),
                                config.batch);
  train::open_set(config, data::Split::kTest);
  train::TrainConfig written = config;
  keep_settings(options.folder, train::settings_of(written).to_yaml());
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const int64_t threads = config.threads > 0 || options.side_by_side == 1
                              ? config.threads
                              : std::max<int64_t>(1, cores / options.side_by_side);
  SeedRuns(options, threads).run();
}

}  // namespace trainyard::recipes
