#include "rl/agents/saved_run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kKept = 2;
constexpr const char* kTargetPrefix = "target.";

std::vector<runs::StateTensor> tensors_of(Learner& learner) {
  std::vector<runs::StateTensor> tensors;
  const train::TrainingStep& step = learner.step();
  for (size_t i = 0; i < step.states().size(); ++i) {
    tensors.push_back(
        {step.states()[i].name, step.states()[i].type, [&step, i] { return step.state(i); }});
  }
  const train::Predictor* target = learner.target();
  for (size_t i = 0; target != nullptr && i < target->states().size(); ++i) {
    tensors.push_back({kTargetPrefix + target->states()[i].name, target->states()[i].type,
                       [target, i] { return target->state(i); }});
  }
  return tensors;
}

void restore_others(const Json& others, const RunState& state) {
  state.learner.set_updates(others.at("updates").as_int());
  state.sampling.set_drawn(static_cast<uint64_t>(others.at("sampled").as_int()));
  state.progress.set_state(others.at("progress"));
  if (state.actor != nullptr) state.actor->set_state(others.at("actor"), state.memory);
}

}  // namespace

SavedRun::SavedRun(std::filesystem::path folder, const RlConfig& config)
    : folder_(std::move(folder)),
      hash_(course_hash(config)),
      seed_(static_cast<uint64_t>(config.seed)),
      checkpoints_(folder_, kKept),
      replay_(folder_ / "replay") {}

std::filesystem::path SavedRun::state_file(int64_t step) const {
  return folder_ / fmt::format("run-{:09}.json", step);
}

int64_t SavedRun::last_step() const {
  const auto latest = checkpoints_.latest();
  return latest ? runs::Checkpoint(*latest).info().step : 0;
}

// The checkpoint comes last: without it the rest does not count.
void SavedRun::save(const RunState& state, int64_t step) {
  replay_.save(state.memory, step);
  const Json others =
      Json::object({{"updates", state.learner.updates()},
                    {"sampled", static_cast<int64_t>(state.sampling.drawn())},
                    {"actor", state.actor == nullptr ? Json::object() : state.actor->state()},
                    {"progress", state.progress.state()}});
  write_file(state_file(step), others.dump(-1) + "\n");
  const int64_t before = last_step();
  runs::CheckpointInfo info;
  info.model = "q-network";
  info.config_hash = hash_;
  info.step = step;
  info.seed = seed_;
  checkpoints_.save(info, tensors_of(state.learner), false);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("run-") && entry.path() != state_file(step) &&
        entry.path() != state_file(before)) {
      std::filesystem::remove(entry.path());
    }
  }
}

void SavedRun::restore(const RunState& state) {
  const auto latest = checkpoints_.latest();
  TY_REQUIRE(latest.has_value(), "'{}' has no checkpoint", folder_.string());
  const runs::Checkpoint checkpoint(*latest);
  const std::vector<runs::StateTensor> expected = tensors_of(state.learner);
  std::vector<runs::NamedType> types;
  for (const runs::StateTensor& tensor : expected) types.push_back({tensor.name, tensor.type});
  checkpoint.require_fits("q-network", hash_, types);
  train::TrainingStep& step = state.learner.step();
  for (size_t i = 0; i < step.states().size(); ++i) {
    step.set_state(i, checkpoint.tensor(step.states()[i].name));
  }
  train::Predictor* target = state.learner.target();
  for (size_t i = 0; target != nullptr && i < target->states().size(); ++i) {
    target->set_state(i, checkpoint.tensor(kTargetPrefix + target->states()[i].name));
  }
  const int64_t at = checkpoint.info().step;
  replay_.restore(at, state.memory);
  const std::string file = state_file(at).string();
  const Json others = Json::parse(read_file(file), file);
  try {
    restore_others(others, state);
  } catch (const Error& error) {
    throw_error("'{}' does not fit: {}", file, error.what());
  }
}

}  // namespace trainyard::rl
