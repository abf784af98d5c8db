#include "studies/study.h"

#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "dist/single.h"
#include "runs/metrics.h"
#include "train/run_training.h"

namespace trainyard::recipes {
namespace fs = std::filesystem;

bool is_finished(const fs::path& run) {
  // Written last.
  return fs::exists(run / "model.safetensors");
}

void keep_settings(const fs::path& folder, const std::string& text, const std::string& file) {
  fs::create_directories(folder);
  const fs::path path = folder / file;
  if (!fs::exists(path)) {
    write_file(path, text);
    return;
  }
  const std::vector<std::string> lines = split(read_file(path), '\n');
  const std::set<std::string> own(lines.begin(), lines.end());
  std::string differ;
  for (const std::string& line : split(text, '\n')) {
    if (!own.contains(line)) differ += "\n  asked for: " + line;
  }
  TY_REQUIRE(differ.empty(),
             "{} holds a study with other settings; give this one another `name`:{}",
             folder.string(), differ);
}

TrainingLog read_run_log(const fs::path& run) {
  TrainingLog log{.name = run.filename().string(), .points = {}};
  for (const Json& line : runs::read_metrics(run / "metrics.jsonl")) {
    const Json* top1 = line.find("test_top1");
    if (top1 == nullptr) continue;
    log.points.push_back(
        {line.at("epoch").as_number(), line.at("seconds").as_number(), top1->as_number()});
  }
  TY_REQUIRE(!log.points.empty(), "{}: no epoch with a top-1 is recorded", run.string());
  return log;
}

TrainingLog train_once(const train::TrainConfig& config, const data::Dataset& training,
                       const data::Dataset& test, const fs::path& folder, const std::string& name,
                       const StudyHooks& hooks) {
  const fs::path path = folder / name;
  if (is_finished(path)) return read_run_log(path);
  train::check(config);
  const train::StartingNetwork start = train::starting_network(config, training, /*rank=*/0);
  const train::Task task = train::named_task(config, data::TargetKind::kClass);
  dist::SingleProcess alone;
  train::TrainingRun run({config, training, test, start.graph, task}, alone);
  if (hooks.note) {
    hooks.note(fmt::format("{}: {} on {}", name, config.model, training.source()));
  }
  const runs::RunDirectory directory = train::begin_or_resume(folder, name, config);
  train::TrainHooks train_hooks;
  train_hooks.should_stop = hooks.should_stop;
  train_hooks.on_step = hooks.on_step;
  const train::TrainResult result = run.run(&directory, train_hooks).training;
  if (result.interrupted) {
    throw_failure("stopped; run the same command again to resume with what is in {}",
                  folder.string());
  }
  return read_run_log(directory.path());
}

}  // namespace trainyard::recipes
