#include "rl/env/recording.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/unpack.h"
#include "rl/env/environment.h"

namespace trainyard::rl {
namespace {

// Whether all numbers agree within the tolerance, and all else exactly; `worst` keeps the largest
// difference. Of objects, the members of `theirs` count.
bool values_agree(const Json& ours, const Json& theirs, double tolerance, double& worst) {
  bool same = true;
  if (theirs.is_array()) {
    if (!ours.is_array() || ours.items().size() != theirs.items().size()) return false;
    for (size_t i = 0; i < ours.items().size(); ++i) {
      same = values_agree(ours.items()[i], theirs.items()[i], tolerance, worst) && same;
    }
    return same;
  }
  if (theirs.is_object()) {
    for (const auto& [key, value] : theirs.members()) {
      const Json* own = ours.is_object() ? ours.find(key) : nullptr;
      same = own != nullptr && values_agree(*own, value, tolerance, worst) && same;
    }
    return same;
  }
  if (!ours.is_number() || !theirs.is_number()) return ours.dump(-1) == theirs.dump(-1);
  const double difference = std::abs(ours.as_number() - theirs.as_number());
  worst = std::max(worst, difference);
  return difference <= tolerance;
}

// One recorded trajectory beside one copy of our environment.
class RecordedRun {
 public:
  // Everything is referred to. Differences go to `check`.
  RecordedRun(RecordingCheck& check, Environment& environment, const Json& trajectory);
  ~RecordedRun() { environment_.chance(0).play_back(nullptr); }
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  Environment& environment() { return environment_; }
  const Json& field(const char* key) const { return trajectory_.at(key); }
  const Json* find(const char* key) const { return trajectory_.find(key); }
  const Json& at(const char* key, int64_t t) const;
  int64_t length() const { return static_cast<int64_t>(field("actions").items().size()); }

  // What the game draws from now on, as recorded; those of before must be used up.
  void feed(const Json& draws);
  Outcome step(int64_t t);
  void begin_episode();
  // Of the last step or beginning.
  const std::vector<float>& observation() const { return observation_; }

  void count_step() { ++check_.steps; }
  // "" is none.
  void note(int64_t t, const std::string& difference);
  // The largest difference becomes part of the check.
  bool agree(const Json& ours, const Json& theirs, double tolerance) {
    return values_agree(ours, theirs, tolerance, check_.worst);
  }

 private:
  RecordingCheck& check_;
  Environment& environment_;
  const Json& trajectory_;
  std::vector<float> observation_;
  std::deque<Draw> draws_;
};

// [low, high) of recorded arguments: [n], [low, high, count] or [["low", l], ["high", h]].
Draw range_of(const Json& arguments) {
  const Json::Array& items = arguments.items();
  TY_REQUIRE(!items.empty(), "a draw of a whole number without its range");
  if (items.size() == 1) return {.high = items[0].as_int()};
  const auto number = [](const Json& item) {
    return item.is_array() ? item.items().at(1).as_int() : item.as_int();
  };
  return {.low = number(items[0]), .high = number(items[1])};
}

// A plain number, or [kind, arguments, result] with one result or several.
void append_draws(const Json& recorded, std::deque<Draw>& draws) {
  if (recorded.is_number()) {
    draws.push_back({.value = recorded.as_number()});
    return;
  }
  const Json::Array& parts = recorded.items();
  TY_REQUIRE(parts.size() == 3, "a draw is [kind, arguments, result], found {}", recorded.dump(-1));
  Draw draw;
  if (parts[0].as_string() != "rand") draw = range_of(parts[1]);
  const Json::Array one{parts[2]};
  for (const Json& result : parts[2].is_array() ? parts[2].items() : one) {
    draw.value = result.as_number();
    draws.push_back(draw);
  }
}

RecordedRun::RecordedRun(RecordingCheck& check, Environment& environment, const Json& trajectory)
    : check_(check),
      environment_(environment),
      trajectory_(trajectory),
      observation_(static_cast<size_t>(environment.spec().observation_size())) {}

const Json& RecordedRun::at(const char* key, int64_t t) const {
  const Json::Array& items = field(key).items();
  TY_REQUIRE(static_cast<size_t>(t) < items.size(), "'{}' has {} entries, expected more than {}",
             key, items.size(), t);
  return items[static_cast<size_t>(t)];
}

void RecordedRun::feed(const Json& draws) {
  if (!draws_.empty()) throw_failure("{} recorded draws are left over", draws_.size());
  for (const Json& draw : draws.items()) append_draws(draw, draws_);
  environment_.chance(0).play_back(&draws_);
}

Outcome RecordedRun::step(int64_t t) {
  const int64_t wanted = at("actions", t).as_int();
  TY_REQUIRE(wanted >= 0 && wanted < environment_.spec().actions, "step {}: action {} of {}", t,
             wanted, environment_.spec().actions);
  const auto action = static_cast<int32_t>(wanted);
  Outcome outcome;
  environment_.step({&action, 1}, observation_, {&outcome, 1});
  return outcome;
}

void RecordedRun::begin_episode() {
  environment_.begin_episode(0, observation_);
}

void RecordedRun::note(int64_t t, const std::string& difference) {
  if (difference.empty()) return;
  ++check_.mismatches;
  if (!check_.first.empty()) return;
  check_.first = fmt::format("{}, step {}: {}", field("name").as_string(), t, difference);
}

// Rounding adds up over a free run, so it is compared less strictly than single steps.
constexpr double kFreeRunTolerance = 1e-6;

Json as_json(const std::vector<float>& observation) {
  return Json::array_of(std::vector<double>(observation.begin(), observation.end()));
}

// The places of the ones, as recordings have them: (row * 10 + column) * channels + channel.
Json lit_places(const RecordedRun& run, const Shape& shape) {
  std::vector<int64_t> lit;
  const int64_t places = shape[1] * shape[2];
  for (int64_t place = 0; place < places; ++place) {
    for (int64_t channel = 0; channel < shape[0]; ++channel) {
      if (run.observation()[static_cast<size_t>(channel * places + place)] != 0) {
        lit.push_back(place * shape[0] + channel);
      }
    }
  }
  return Json::array_of(lit);
}

// Exactly: rewards and flags are not rounded.
std::string flag_difference(const RecordedRun& run, const Outcome& outcome, int64_t t,
                            const char* terminated) {
  const double recorded = run.at("rewards", t).as_number();
  if (static_cast<double>(outcome.reward) != recorded) {
    return fmt::format("reward {}, recorded {}", outcome.reward, recorded);
  }
  if (outcome.terminated != run.at(terminated, t).as_bool()) {
    return fmt::format("terminated is {}, recorded {}", outcome.terminated, !outcome.terminated);
  }
  return {};
}

// Empty if all agrees; otherwise the first difference, in words.
std::string plain_difference(RecordedRun& run, const Outcome& outcome, int64_t t) {
  const Json state = run.environment().state(0);
  if (!run.agree(state, run.at("states", t), kStateTolerance)) {
    return fmt::format("state {}, recorded {}", state.dump(-1), run.at("states", t).dump(-1));
  }
  if (run.find("obs") != nullptr &&
      !run.agree(as_json(run.observation()), run.at("obs", t), kObservationTolerance)) {
    return fmt::format("another observation than {}", run.at("obs", t).dump(-1));
  }
  if (outcome.truncated != run.at("truncated", t).as_bool()) {
    return fmt::format("truncated is {}, recorded {}", outcome.truncated, !outcome.truncated);
  }
  return flag_difference(run, outcome, t, "terminated");
}

// Classic control and grids: each step from the recorded state before it, then a free run.
void check_plain(RecordedRun& run) {
  for (int64_t t = 0; t < run.length(); ++t) {
    // From the recorded state each time, so that one wrong step does not make all that follow
    // wrong.
    run.environment().set_state(0, t == 0 ? run.field("start_state") : run.at("states", t - 1), t);
    if (run.find("draws") != nullptr) run.feed(run.at("draws", t));
    run.note(t, plain_difference(run, run.step(t), t));
    run.count_step();
  }
  run.environment().set_state(0, run.field("start_state"), 0);
  const int64_t free = std::min(run.length(), run.field("free_run_steps").as_int());
  for (int64_t t = 0; t < free; ++t) {
    if (run.find("draws") != nullptr) run.feed(run.at("draws", t));
    run.step(t);
    double apart = 0;  // rounding may add up here: not part of the largest difference
    if (!values_agree(run.environment().state(0), run.at("states", t), kFreeRunTolerance, apart)) {
      run.note(t, "the run from the start has left the recorded one");
      return;
    }
  }
}

void compare_picture(RecordedRun& run, const Json& recorded, int64_t t) {
  const Json lit = lit_places(run, run.environment().spec().shape);
  if (lit.dump(-1) != recorded.dump(-1)) run.note(t, "another picture");
}

// The recorded entry of a list for this step, if it has one.
const Json* entry_after(const Json& list, int64_t t) {
  for (const Json& entry : list.items()) {
    if (entry.at("after_step").as_int() == t) return &entry;
  }
  return nullptr;
}

void begin_recorded(RecordedRun& run) {
  run.feed(run.field("reset_draws"));
  run.begin_episode();
  const bool forced = run.field("start_is_forced").as_bool();
  if (!forced && !run.agree(run.environment().state(0), run.field("start_state"), 0)) {
    run.note(0, "another state after the reset");
  }
  Json start = run.field("start_state");
  // Sticky actions repeat the one before, which is part of the state.
  start["last_action"] = run.field("last_action");
  run.environment().set_state(0, start, 0);
}

void check_step(RecordedRun& run, int64_t t) {
  run.feed(run.at("draws", t));
  const Outcome outcome = run.step(t);
  std::string difference = flag_difference(run, outcome, t, "terminal");
  const Json state = run.environment().state(0);
  if (difference.empty() && state.at("last_action").as_int() != run.at("applied", t).as_int()) {
    difference = fmt::format("applied action {}, recorded {}", state.at("last_action").as_int(),
                             run.at("applied", t).as_int());
  }
  const Json* checkpoint = entry_after(run.field("checkpoints"), t);
  if (difference.empty() && checkpoint != nullptr &&
      !run.agree(state, checkpoint->at("state"), 0)) {
    difference =
        fmt::format("state {}, recorded {}", state.dump(-1), checkpoint->at("state").dump(-1));
  }
  run.note(t, difference);
  if (difference.empty()) compare_picture(run, run.at("on", t), t);
}

void check_minatar(RecordedRun& run) {
  begin_recorded(run);
  for (int64_t t = 0; t < run.length(); ++t) {
    check_step(run, t);
    run.count_step();
    const Json* reset = entry_after(run.field("resets"), t);
    if (reset == nullptr) continue;
    run.feed(reset->at("draws"));
    run.begin_episode();
    if (!run.agree(run.environment().state(0), reset->at("state"), 0)) {
      run.note(t, "another state after the reset");
    }
    compare_picture(run, reset->at("on"), t);
  }
}

// Names as the recorded environments have them (Gymnasium, MinAtar).
EnvOptions options_of(const Json& recording, const Json& trajectory) {
  EnvOptions options;
  if (const Json* limit = recording.find("time_limit"); limit != nullptr && limit->is_int()) {
    options.time_limit = limit->as_int();
  }
  if (const Json* arguments = trajectory.find("kwargs"); arguments != nullptr) {
    if (const Json* map = arguments->find("map_name")) options.map = map->as_string();
    if (const Json* ice = arguments->find("is_slippery")) options.slippery = ice->as_bool();
  }
  if (const Json* sticky = trajectory.find("sticky_action_prob")) {
    options.sticky = sticky->as_number();
  }
  if (const Json* ramping = trajectory.find("difficulty_ramping")) {
    options.ramping = ramping->as_bool();
  }
  return options;
}

void check_trajectory(RecordingCheck& check, const Json& recording, const Json& trajectory) {
  const EnvironmentDef& known = find_environment(check.environment);
  const auto environment = known.make(options_of(recording, trajectory), 1);
  RecordedRun run(check, *environment, trajectory);
  try {
    if (trajectory.find("on") != nullptr) {
      check_minatar(run);
    } else {
      check_plain(run);
    }
  } catch (const Failure& failure) {
    // Other draws than the recorded ones: what follows would differ for that reason alone.
    run.note(check.steps, failure.what());
  }
}

Json read_recording(const std::filesystem::path& file) {
  return Json::parse(data::read_unpacked(file), file.string());
}

RecordingCheck check_parsed(const Json& recording, const std::filesystem::path& file) {
  RecordingCheck check{.file = file.filename().string(),
                       .environment = recording.at("env").as_string()};
  try {
    for (const Json& trajectory : recording.at("trajectories").items()) {
      check_trajectory(check, recording, trajectory);
    }
  } catch (const Error& error) {
    throw_error("{}: {}", file.string(), error.what());
  }
  return check;
}

// Folders may hold other JSON files.
bool is_recording(const Json& content) {
  return content.is_object() && content.find("env") != nullptr &&
         content.find("trajectories") != nullptr;
}

}  // namespace

RecordingCheck check_recording(const std::filesystem::path& file) {
  const Json recording = read_recording(file);
  TY_REQUIRE(is_recording(recording), "{} is no recording: expected 'env' and 'trajectories'",
             file.string());
  return check_parsed(recording, file);
}

std::vector<RecordingCheck> check_recordings(const std::filesystem::path& path) {
  TY_REQUIRE(std::filesystem::exists(path), "there is no '{}'", path.string());
  if (!std::filesystem::is_directory(path)) return {check_recording(path)};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".json") || name.ends_with(".json.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<RecordingCheck> checks;
  for (const std::filesystem::path& file : files) {
    const Json content = read_recording(file);
    if (is_recording(content)) checks.push_back(check_parsed(content, file));
  }
  TY_REQUIRE(!checks.empty(), "'{}' has no recording (*.json, *.json.gz with 'trajectories')",
             path.string());
  return checks;
}

}  // namespace trainyard::rl
