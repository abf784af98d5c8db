#include "studies/seed_runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "studies/side_by_side.h"
#include "studies/study.h"
#include "train/training_network.h"
#include "train/training_set.h"

namespace trainyard::recipes {
namespace {

constexpr int kWrongRequest = 2;  // as docs/errors.md has it

namespace fs = std::filesystem;

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

fs::path log_of(const fs::path& study, int64_t seed) {
  return study / fmt::format("seed-{}.log", seed);
}

void require_success(const SeedRunsOptions& options, int64_t seed, int code) {
  TY_REQUIRE(code != kWrongRequest, "the training with seed {} refused the request (see above)",
             seed);
  if (code != 0) {
    throw_failure("the training with seed {} ended with exit code {}{}", seed, code,
                  options.side_by_side > 1 ? "; see " + log_of(options.folder, seed).string() : "");
  }
}

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
  const int64_t threads = shared_threads(config.threads, options.side_by_side);
  std::vector<int64_t> waiting;
  for (const int64_t seed : options.seeds) {
    if (!is_finished(seed_folder(options.folder, seed))) waiting.push_back(seed);
  }
  std::reverse(waiting.begin(), waiting.end());
  SideBySide trainings{.most = options.side_by_side, .should_stop = options.should_stop};
  trainings.next = [&]() -> std::optional<TrainingJob> {
    if (waiting.empty()) return std::nullopt;
    TrainingJob job{.id = waiting.back(), .command = command_for(options, waiting.back(), threads)};
    // One alone shows its progress as `train` does.
    if (options.side_by_side > 1) job.log = log_of(options.folder, job.id);
    waiting.pop_back();
    return job;
  };
  trainings.ended = [&](int64_t seed, int code) {
    require_success(options, seed, code);
    if (options.note) options.note(fmt::format("seed {} has ended", seed));
  };
  if (!run_side_by_side(trainings)) {
    throw_failure("stopped; run the same command again to resume with what is in {}",
                  options.folder.string());
  }
}

}  // namespace trainyard::recipes
