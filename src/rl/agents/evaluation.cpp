#include "rl/agents/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "rl/agents/q_objective.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kMostTogether = 100;
constexpr int64_t kMostChildren = 4;  // processes
constexpr double kNormal95 = 1.959964;

// The first episode of every copy.
std::vector<Episode> first_episodes(const std::string& name, const MakePolicy& make_policy,
                                    int64_t copies, const EvaluationOptions& options,
                                    uint64_t seed) {
  const std::unique_ptr<Environment> environment = make_environment(name, copies);
  const EnvSpec& spec = environment->spec();
  const auto count = static_cast<size_t>(copies);
  const auto width = static_cast<size_t>(spec.observation_size());
  const auto actions = static_cast<size_t>(spec.actions);
  const Policy policy = make_policy(copies);
  std::vector<float> observations(count * width);
  std::vector<float> values(count * actions);
  std::vector<int32_t> chosen(count);
  std::vector<Outcome> outcomes(count);
  std::vector<Episode> episodes(count);
  std::vector<bool> ended(count, false);
  EventStream explore(seed, hash_text("evaluate"));
  environment->reset(seed, observations);
  const int64_t longest = spec.continuing ? options.continuing : options.longest;
  for (int64_t t = 0; t < longest; ++t) {
    policy(observations, values);
    for (size_t i = 0; i < count; ++i) {
      chosen[i] = explore.uniform() < options.epsilon
                      ? static_cast<int32_t>(explore.between(0, spec.actions))
                      : best_action(std::span(values).subspan(i * actions, actions));
    }
    environment->step(chosen, observations, outcomes);
    for (size_t i = 0; i < count; ++i) {
      if (!ended[i]) {
        episodes[i].reward += static_cast<double>(outcomes[i].reward);
        ++episodes[i].steps;
      }
      if (!outcomes[i].ended()) continue;
      ended[i] = true;
      environment->begin_episode(static_cast<int64_t>(i),
                                 std::span(observations).subspan(i * width, width));
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool done) { return done; })) break;
  }
  return episodes;
}

}  // namespace

Evaluation summarize(std::vector<double> returns) {
  TY_REQUIRE(!returns.empty(), "no episode was played");
  Evaluation result;
  const auto count = static_cast<double>(returns.size());
  result.mean = std::accumulate(returns.begin(), returns.end(), 0.0) / count;
  double squares = 0;
  for (const double value : returns) squares += (value - result.mean) * (value - result.mean);
  result.deviation = returns.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  const double reach = kNormal95 * result.deviation / std::sqrt(count);
  result.low = result.mean - reach;
  result.high = result.mean + reach;
  std::vector<double> sorted = returns;
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  result.median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  result.returns = std::move(returns);
  return result;
}

Evaluation evaluate_policy(const std::string& environment, const MakePolicy& make_policy,
                           const EvaluationOptions& options) {
  std::vector<double> returns;
  double steps = 0;
  const int64_t together = command_of(environment) ? kMostChildren : kMostTogether;
  for (int64_t done = 0; done < options.episodes; done += together) {
    const int64_t copies = std::min(together, options.episodes - done);
    for (const Episode& episode : first_episodes(environment, make_policy, copies, options,
                                                 options.seed + static_cast<uint64_t>(done))) {
      returns.push_back(episode.reward);
      steps += static_cast<double>(episode.steps);
    }
  }
  Evaluation result = summarize(std::move(returns));
  result.mean_steps = steps / static_cast<double>(options.episodes);
  return result;
}

}  // namespace trainyard::rl
