#include "rl/agents/bench.h"

#include <algorithm>
#include <ctime>

#include "base/stopwatch.h"
#include "rl/agents/actor.h"
#include "rl/agents/learner.h"
#include "rl/agents/run.h"
#include "rl/agents/run_files.h"

namespace trainyard::rl {
namespace {

// How many things per second `round`, which does `count` of them, gets done.
template <typename Round>
double rate_of(double seconds, int64_t count, Round&& round) {
  // The first round warms up caches and is not counted.
  round();
  int64_t done = 0;
  const Stopwatch clock;
  do {
    round();
    done += count;
  } while (clock.seconds() < seconds);
  return static_cast<double>(done) / clock.seconds();
}

double random_steps(const RlConfig& config, const BenchOptions& options) {
  const auto environment = make_environment(config.env, options.act_copies);
  const auto copies = static_cast<size_t>(options.act_copies);
  const auto width = static_cast<size_t>(environment->spec().observation_size());
  std::vector<float> observations(copies * width);
  std::vector<int32_t> actions(copies);
  std::vector<Outcome> outcomes(copies);
  environment->reset(1, observations);
  const RandomStream random(1);
  uint64_t drawn = 0;
  const auto bound = static_cast<uint64_t>(environment->spec().actions);
  constexpr int64_t kRounds = 256;
  return rate_of(options.seconds, kRounds * options.act_copies, [&] {
    for (int64_t round = 0; round < kRounds; ++round) {
      for (int32_t& action : actions) action = static_cast<int32_t>(random.below(drawn++, bound));
      environment->step(actions, observations, outcomes);
      for (size_t i = 0; i < copies; ++i) {
        if (!outcomes[i].ended()) continue;
        environment->begin_episode(static_cast<int64_t>(i),
                                   std::span(observations).subspan(i * width, width));
      }
    }
  });
}

double greedy_steps(const RlConfig& config, const Learner& learner, int64_t copies,
                    double seconds) {
  Actor actor(make_environment(config.env, copies), actor_options(config));
  const auto network = learner.predictor(copies);
  const Policy policy = [&](std::span<const float> seen, std::span<float> values) {
    std::copy(seen.begin(), seen.end(), network->input(0).values<float>().begin());
    network->run();
    const std::span<const float> out = network->output(0).values<float>();
    std::copy(out.begin(), out.end(), values.begin());
  };
  const auto no_frame = [](std::span<const float>) { return int64_t{0}; };
  const auto no_transition = [](const Transition&) {};
  actor.begin(no_frame);
  constexpr int64_t kRounds = 16;
  return rate_of(seconds, kRounds * copies, [&] {
    for (int64_t round = 0; round < kRounds; ++round)
      actor.step(0, policy, no_frame, no_transition);
    actor.take_episodes();
  });
}

// A memory that random actions have filled so far that batches differ.
ReplayMemory filled_memory(const RlConfig& config) {
  Actor actor(make_environment(config.env, 1), actor_options(config));
  ReplayMemory memory(actor.spec(), replay_options(config, actor.spec()));
  const auto add_frame = [&](std::span<const float> frame) { return memory.add_frame(frame); };
  const auto add = [&](const Transition& transition) { memory.add(transition); };
  actor.begin(add_frame);
  const int64_t wanted =
      std::min<int64_t>(memory.capacity(), std::max<int64_t>(10000, config.batch));
  while (memory.size() < wanted) actor.step(1, {}, add_frame, add);
  return memory;
}

// Sampling alone, with priorities drawn evenly.
double samples_per_second(const SamplerOptions& kind, int64_t batch, const BenchOptions& options) {
  const auto sampler = make_sampler(kind, options.replay_capacity);
  const RandomStream random(3);
  for (int64_t slot = 0; slot < options.replay_capacity; ++slot) {
    sampler->add(slot, random.uniform(static_cast<uint64_t>(slot)));
  }
  std::vector<int64_t> slots(static_cast<size_t>(batch));
  std::vector<float> weights(slots.size());
  EventStream chance(1, 2);
  return rate_of(options.seconds, batch, [&] { sampler->sample(slots, weights, 0.4, chance); });
}

double end_to_end(RlConfig config, double seconds) {
  config.eval_every = 0;
  config.eval_episodes = 1;
  // The clock ends it, not the steps.
  config.steps = int64_t{1} << 40;
  const Stopwatch clock;
  double begin = 0;
  RunHooks hooks;
  // From when it learns on.
  int64_t asked = 0;
  const int64_t warm = config.start / config.copies + 1;
  hooks.should_stop = [&] {
    if (++asked == warm + 1) begin = clock.seconds();
    return asked > warm && clock.seconds() - begin > seconds;
  };
  train_dqn(config, nullptr, hooks);
  return static_cast<double>((asked - warm - 1) * config.copies) / (clock.seconds() - begin);
}

}  // namespace

BenchResult bench_agent(const RlConfig& config, const BenchOptions& options) {
  BenchResult result;
  const Stopwatch clock;
  const std::clock_t used = std::clock();
  result.batch = config.batch;
  result.env_steps_per_s = random_steps(config, options);
  ReplayMemory memory = filled_memory(config);
  Learner learner(config, memory.spec());
  result.act_steps_per_s = greedy_steps(config, learner, options.act_copies, options.seconds);
  result.act_one_steps_per_s = greedy_steps(config, learner, 1, options.seconds);
  EventStream sampling(1, 1);
  result.updates_per_s = rate_of(options.seconds, 1, [&] {
    learner.update(memory, config.learning_rate, config.beta, sampling);
  });
  SamplerOptions proportional = config.sampler();
  result.replay_samples_per_s = samples_per_second(config.sampler(), config.batch, options);
  proportional.kind = "proportional";
  result.priority_samples_per_s = samples_per_second(proportional, config.batch, options);
  result.end_to_end_steps_per_s = end_to_end(config, 2 * options.seconds);
  // Processor time over wall time: how many cores it kept busy.
  result.core_share = static_cast<double>(std::clock() - used) /
                      static_cast<double>(CLOCKS_PER_SEC) / clock.seconds();
  return result;
}

}  // namespace trainyard::rl
