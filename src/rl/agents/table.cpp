#include "rl/agents/table.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "rl/agents/progress.h"
#include "rl/agents/q_objective.h"
#include "rl/agents/run_files.h"

namespace trainyard::rl {
namespace {

// Grid worlds show their cell as a one-hot row, so that networks can learn them too.
int64_t cell_in(std::span<const float> row) {
  return std::max_element(row.begin(), row.end()) - row.begin();
}

// Always draws a number, even for an epsilon of 0, so that schedules do not shift the stream.
int32_t epsilon_greedy(std::span<const float> values, double epsilon, EventStream& explore) {
  if (explore.uniform() < epsilon) {
    return static_cast<int32_t>(explore.between(0, static_cast<int64_t>(values.size())));
  }
  return best_action(values);
}

}  // namespace

// `shown_` is `values_` in f32, the form in which policies see them.
QTable::QTable(int64_t cells, int64_t actions)
    : actions_(actions),
      shown_(static_cast<size_t>(cells * actions), 0.0F),
      values_(shown_.size(), 0),
      visits_(shown_.size(), 0) {}

size_t QTable::place(int64_t cell, int32_t action) const {
  return static_cast<size_t>(cell * actions_ + action);
}

std::span<const float> QTable::row(int64_t cell) const {
  return std::span(shown_).subspan(place(cell, 0), static_cast<size_t>(actions_));
}

double QTable::learn(int64_t cell, int32_t action, double target, double step_size, double decay) {
  const size_t at = place(cell, action);
  const auto visits = static_cast<double>(++visits_[at]);
  const double step = decay == 0 ? step_size : step_size / std::pow(visits, decay);
  const double change = step * (target - values_[at]);
  values_[at] += change;
  shown_[at] = static_cast<float>(values_[at]);
  return change;
}

Json QTable::json() const {
  return Json::object({{"actions", actions_},
                       {"values", Json::array_of(values_)},
                       {"visits", Json::array_of(visits_)}});
}

QTable QTable::from_json(const Json& json, const EnvSpec& spec) {
  const Json::Array& values = json.at("values").items();
  const int64_t actions = json.at("actions").as_int();
  const int64_t cells = spec.observation_size();
  TY_REQUIRE(actions == spec.actions && static_cast<int64_t>(values.size()) == cells * actions,
             "a table of {} values for {} actions, expected {} values for the {} actions of {}",
             values.size(), actions, cells * spec.actions, spec.actions, spec.name);
  QTable table(cells, actions);
  // Visits are not read back: tables are loaded to act, not to learn on.
  for (size_t i = 0; i < values.size(); ++i) {
    table.values_[i] = values[i].as_number();
    table.shown_[i] = static_cast<float>(table.values_[i]);
  }
  return table;
}

MakePolicy table_policy(const QTable& table) {
  const auto shared = std::make_shared<const QTable>(table);
  return [shared](int64_t copies) -> Policy {
    return [shared, copies](std::span<const float> seen, std::span<float> values) {
      const auto count = static_cast<size_t>(copies);
      const size_t width = seen.size() / count;
      const size_t actions = values.size() / count;
      for (size_t i = 0; i < count; ++i) {
        const std::span<const float> row = shared->row(cell_in(seen.subspan(i * width, width)));
        std::copy(row.begin(), row.end(), values.begin() + static_cast<int64_t>(i * actions));
      }
    };
  };
}

MakePolicy table_policy(const std::filesystem::path& file, const EnvSpec& spec) {
  return table_policy(QTable::from_json(Json::parse(read_file(file), file.string()), spec));
}

// Q-learning bootstraps from the best next action, sarsa from the one it will take. The
// differential agent does as Q-learning without a discount, of rewards beyond their average, which
// it learns as well (Wan, Naik, Sutton 2021).
RunResult train_table(const RlConfig& config, const runs::RunDirectory* directory,
                      const RunHooks& hooks) {
  const auto environment = make_environment(config.env, 1);
  const EnvSpec& spec = environment->spec();
  require_learnable(config, spec);
  QTable table(spec.observation_size(), spec.actions);
  RunProgress progress(config, directory, hooks, 0);
  const EpsilonSchedule schedule = config.epsilon_schedule();
  EventStream explore(static_cast<uint64_t>(config.seed), hash_text("explore"));
  std::vector<float> seen(static_cast<size_t>(spec.observation_size()));
  environment->reset(static_cast<uint64_t>(config.seed), seen);
  int64_t cell = cell_in(seen);
  int32_t action = epsilon_greedy(table.row(cell), schedule.at(0), explore);
  Episode episode;
  const bool differential = config.agent == "differential";
  double average = 0;  // reward of a step
  const auto evaluate = [&] {
    return evaluate_policy(
        config.env, table_policy(table),
        {.episodes = config.eval_episodes,
         .epsilon = config.eval_epsilon,
         .seed = static_cast<uint64_t>(config.seed) + 1000003,
         // A greedy policy that is not finished may walk in circles; this ends such an episode.
         .longest = 1000});
  };
  int64_t step = 0;
  for (; step < config.steps && !hooks.should_stop(); ++step) {
    Outcome outcome;
    environment->step({&action, 1}, seen, {&outcome, 1});
    const int64_t next = cell_in(seen);
    // Drawn for both agents: sarsa learns from it, and both take it next.
    const int32_t coming = epsilon_greedy(table.row(next), schedule.at(step), explore);
    const std::span<const float> values = table.row(next);
    const int32_t chosen = config.agent == "sarsa" ? coming : best_action(values);
    // A truncated episode still has a future, a terminated one has none.
    const double ahead =
        outcome.terminated ? 0 : static_cast<double>(values[static_cast<size_t>(chosen)]);
    const double target = differential ? static_cast<double>(outcome.reward) - average + ahead
                                       : static_cast<double>(outcome.reward) + config.gamma * ahead;
    const double change =
        table.learn(cell, action, target, config.step_size, config.step_size_decay);
    if (differential) average += config.average_step * change;
    episode.reward += static_cast<double>(outcome.reward);
    ++episode.steps;
    cell = next;
    action = coming;
    if (outcome.ended()) {
      progress.add_episode(std::exchange(episode, {}));
      environment->begin_episode(0, seen);
      cell = cell_in(seen);
      action = epsilon_greedy(table.row(cell), schedule.at(step), explore);
    }
    progress.step(step + 1, step + 1, schedule.at(step));
    if (config.eval_every > 0 && (step + 1) % config.eval_every == 0 && step + 1 < config.steps) {
      progress.add_evaluation(step + 1, evaluate);
    }
  }
  progress.add_evaluation(step, evaluate);
  if (directory != nullptr)
    write_file(directory->path() / kTableFile, table.json().dump(-1) + "\n");
  RunResult result = progress.result();
  result.stopped = step < config.steps;
  result.steps = step;
  result.updates = step;
  result.batch = 1;
  result.table_values = table.values();
  if (differential) result.average_reward = average;
  result.samples_per_transition = 1;
  result.episodes = progress.episodes();
  result.seconds = progress.seconds();
  result.recent_return = progress.recent_return();
  return result;
}

}  // namespace trainyard::rl
