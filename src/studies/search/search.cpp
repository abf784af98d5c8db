#include "studies/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "runs/metrics.h"
#include "studies/side_by_side.h"
#include "studies/study.h"
#include "train/training_network.h"
#include "train/training_set.h"

namespace trainyard::recipes {
namespace {

namespace fs = std::filesystem;

constexpr int kRefusedRequest = 2;  // as docs/errors.md has it
constexpr const char* kFailedFile = "failed.txt";

fs::path trial_folder(const fs::path& study, int64_t number) {
  return study / fmt::format("trial-{}", number);
}

std::vector<Point> points_of(const SearchOptions& options, const std::vector<Dimension>& space) {
  if (options.scheduler == "grid") return grid_of(space, options.grid_values, options.trials);
  std::vector<Point> points;
  for (int64_t i = 1; i <= options.trials; ++i) {
    points.push_back(draw_point(space, options.seed, i));
  }
  return points;
}

class Searcher {
 public:
  Searcher(const train::TrainConfig& config, const SearchOptions& options)
      : config_(config),
        options_(options),
        rungs_(options.scheduler == "asha" ? rungs_of(config.epochs, options.eta)
                                           : std::vector<int64_t>{config.epochs}) {
    result_.space = parse_space(options.space);
    result_.epochs = config.epochs;
    for (Point& point : points_of(options, result_.space)) {
      // What a training would refuse is refused here, before any starts.
      with_point(config, result_.space, point);
      const auto number = static_cast<int64_t>(result_.trials.size()) + 1;
      result_.trials.push_back({.number = number, .point = std::move(point), .scores = {}});
    }
    train::build_training_network(config, *train::open_set(config, data::Split::kTrain),
                                  config.batch);
    train::open_set(config, data::Split::kTest);
    running_.resize(result_.trials.size());
    wanted_.resize(result_.trials.size());
  }

  SearchResult run() {
    keep();
    for (Trial& trial : result_.trials) read(trial);
    SideBySide trainings{.most = options_.side_by_side, .should_stop = options_.should_stop};
    trainings.next = [this] { return next(); };
    trainings.ended = [this](int64_t id, int code) { ended(static_cast<size_t>(id), code); };
    if (!run_side_by_side(trainings)) {
      throw_failure("stopped; run the same command again to resume with what is in {}",
                    options_.folder.string());
    }
    std::erase_if(result_.trials,
                  [](const Trial& trial) { return trial.epochs() == 0 && !trial.failed; });
    choose_best();
    return std::move(result_);
  }

 private:
  void keep() {
    train::TrainConfig written = config_;
    keep_settings(options_.folder, train::settings_of(written).to_yaml());
    keep_settings(options_.folder,
                  fmt::format("space: {}\nscheduler: {}\ntrials: {}\ngrid_values: {}\neta: {}\n"
                              "search_seed: {}\n",
                              options_.space, options_.scheduler, options_.trials,
                              options_.grid_values, options_.eta, options_.seed),
                  "search.yaml");
  }

  // What a trial has got to.
  void read(Trial& trial) {
    const fs::path folder = trial_folder(options_.folder, trial.number);
    trial.scores.clear();
    trial.failed = fs::exists(folder / kFailedFile);
    if (!fs::exists(folder / "metrics.jsonl")) return;
    for (const Json& line : runs::read_metrics(folder / "metrics.jsonl")) {
      const bool has_top1 = line.find("test_top1") != nullptr;
      const Json* score = has_top1 ? line.find("test_top1") : line.find("test_loss");
      if (score == nullptr) continue;
      result_.score = has_top1 ? "top1" : "loss";
      result_.higher_is_better = has_top1;
      // Numbers that are not finite are null in files.
      const double worst = std::numeric_limits<double>::infinity() * (has_top1 ? -1 : 1);
      trial.scores.push_back(score->is_null() ? worst : score->as_number());
      trial.seconds = line.at("seconds").as_number();
    }
  }

  std::vector<TrialProgress> progress() const {
    std::vector<TrialProgress> all;
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial& trial = result_.trials[i];
      TrialProgress own{
          .scores = {}, .running = running_[i], .closed = trial.failed || trial.closed};
      for (const int64_t rung : rungs_) {
        const auto score = result_.score_at(trial, rung);
        if (!score || (trial.epochs() < rung && !trial.closed)) break;
        own.scores.push_back(result_.higher_is_better ? *score : -*score);
      }
      all.push_back(std::move(own));
    }
    return all;
  }

  std::optional<TrainingJob> next() {
    const std::optional<NextTraining> chosen = next_training(progress(), rungs_, options_.eta);
    if (!chosen) return std::nullopt;
    running_[chosen->trial] = true;
    wanted_[chosen->trial] = chosen->epochs;
    const Trial& trial = result_.trials[chosen->trial];
    if (options_.note) {
      options_.note(fmt::format("trial {} to epoch {}: {}", trial.number, chosen->epochs,
                                settings_text(trial)));
    }
    return TrainingJob{.id = static_cast<int64_t>(chosen->trial),
                       .command = command_for_trial(trial, chosen->epochs),
                       .log = options_.folder / fmt::format("trial-{}.log", trial.number)};
  }

  std::string settings_text(const Trial& trial) const {
    std::vector<std::string> words;
    for (size_t i = 0; i < trial.point.size(); ++i) {
      words.push_back(
          fmt::format("{} {}", flag_of_setting(result_.space[i].setting), trial.point[i]));
    }
    return join(words, ", ");
  }

  std::vector<std::string> command_for_trial(const Trial& trial, int64_t epochs) const {
    const fs::path run = trial_folder(options_.folder, trial.number);
    std::vector<std::string> command = {options_.program, "train"};
    if (fs::exists(run / "config.yaml")) {
      command.insert(command.end(), {"--resume", run.string()});
    } else {
      // Of a process that was killed before it began.
      fs::remove_all(run);
      command.insert(command.end(),
                     {"--config", (options_.folder / "study.yaml").string(), "--runs-dir",
                      options_.folder.string(), "--name", run.filename().string()});
      for (size_t i = 0; i < trial.point.size(); ++i) {
        command.insert(command.end(),
                       {"--" + flag_of_setting(result_.space[i].setting), trial.point[i]});
      }
    }
    const int64_t threads = shared_threads(config_.threads, options_.side_by_side);
    command.insert(command.end(), {"--stop-epoch", fmt::format("{}", epochs), "--threads",
                                   fmt::format("{}", threads), "--json", "--quiet"});
    return command;
  }

  // A training that fails (its loss is no longer finite) is an answer too: its settings are bad.
  void ended(size_t index, int code) {
    Trial& trial = result_.trials[index];
    running_[index] = false;
    const fs::path log = options_.folder / fmt::format("trial-{}.log", trial.number);
    TY_REQUIRE(code != kRefusedRequest, "trial {} refused the request; see {}", trial.number,
               log.string());
    const fs::path folder = trial_folder(options_.folder, trial.number);
    if (code != 0 && fs::exists(folder)) {
      write_file(folder / kFailedFile, fmt::format("exit code {}\n", code));
    }
    read(trial);
    trial.failed = trial.failed || code != 0;
    // Of a training that stops by itself, by its patience or at a target.
    trial.closed = trial.epochs() < wanted_[index];
    if (!options_.note) return;
    const auto score = result_.score_at(trial, trial.epochs());
    options_.note(fmt::format("trial {}: {}", trial.number,
                              trial.failed ? "failed"
                              : score      ? fmt::format("{} {:.4f}", result_.score, *score)
                                           : "no score"));
  }

  // Trials that were trained longest are compared first: a score after few epochs says less.
  void choose_best() {
    for (size_t i = 0; i < result_.trials.size(); ++i) {
      const Trial& trial = result_.trials[i];
      const auto score = result_.score_at(trial, trial.epochs());
      if (trial.failed || !score) continue;
      if (!result_.best) {
        result_.best = i;
        continue;
      }
      const Trial& before = result_.trials[*result_.best];
      const double best = *result_.score_at(before, before.epochs());
      if (trial.epochs() > before.epochs() ||
          (trial.epochs() == before.epochs() && result_.is_better(*score, best))) {
        result_.best = i;
      }
    }
  }

  const train::TrainConfig& config_;
  const SearchOptions& options_;
  std::vector<int64_t> rungs_;
  SearchResult result_;
  std::vector<bool> running_;    // by trial
  std::vector<int64_t> wanted_;  // by trial: the epoch that it is trained to
};

}  // namespace

const std::vector<std::string>& scheduler_names() {
  static const std::vector<std::string> kNames = {"random", "grid", "asha"};
  return kNames;
}

std::optional<double> SearchResult::score_at(const Trial& trial, int64_t until) const {
  std::optional<double> best_score;
  for (size_t i = 0; i < trial.scores.size() && static_cast<int64_t>(i) < until; ++i) {
    if (!best_score || is_better(trial.scores[i], *best_score)) best_score = trial.scores[i];
  }
  return best_score;
}

std::vector<int64_t> rungs_of(int64_t epochs, int64_t eta) {
  std::vector<int64_t> rungs;
  for (int64_t at = epochs; at >= 1; at /= eta) rungs.insert(rungs.begin(), at);
  return rungs;
}

std::optional<NextTraining> next_training(const std::vector<TrialProgress>& trials,
                                          const std::vector<int64_t>& rungs, int64_t eta) {
  const auto top = static_cast<int64_t>(rungs.size()) - 1;
  std::optional<NextTraining>
      leader;  // the best of the highest rung that anybody has left to climb
  for (int64_t rung = top - 1; rung >= 0; --rung) {
    std::vector<size_t> reached;
    for (size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].rung() >= rung) reached.push_back(i);
    }
    const auto at = static_cast<size_t>(rung);
    std::stable_sort(reached.begin(), reached.end(), [&](size_t a, size_t b) {
      return trials[a].scores[at] > trials[b].scores[at];
    });
    const size_t most = reached.size() / static_cast<size_t>(eta);
    for (size_t place = 0; place < reached.size(); ++place) {
      const TrialProgress& trial = trials[reached[place]];
      if (trial.rung() != rung || trial.running || trial.closed) continue;
      const NextTraining up{reached[place], rungs[static_cast<size_t>(rung + 1)]};
      if (place < most) return up;
      if (!leader) leader = up;
    }
  }
  bool any_running = false;
  bool any_at_top = false;
  for (size_t i = 0; i < trials.size(); ++i) {
    any_running = any_running || trials[i].running;
    any_at_top = any_at_top || trials[i].rung() == top;
    if (trials[i].rung() < 0 && !trials[i].running && !trials[i].closed) {
      return NextTraining{i, rungs[0]};
    }
  }
  // With few trials nobody is among the best part of them: the best goes to the end.
  return any_running || any_at_top ? std::nullopt : leader;
}

SearchResult search(const train::TrainConfig& config, const SearchOptions& options) {
  return Searcher(config, options).run();
}

}  // namespace trainyard::recipes
