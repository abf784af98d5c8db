#include "rl/agents/run_files.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "models/network.h"
#include "rl/agents/q_network.h"
#include "rl/agents/table.h"
#include "train/run_parts.h"

namespace trainyard::rl {

ActorOptions actor_options(const RlConfig& config) {
  return {.n_step = config.n_step,
          .gamma = config.gamma,
          .clip_rewards = config.clip_rewards,
          .seed = static_cast<uint64_t>(config.seed)};
}

ReplayOptions replay_options(const RlConfig& config, const EnvSpec& spec) {
  ReplayOptions options;
  options.capacity = config.capacity;
  if (config.replay_mb > 0) {
    options.capacity = transitions_in_bytes(spec, static_cast<int64_t>(config.replay_mb * 1048576));
  }
  TY_REQUIRE(options.capacity >= config.batch,
             "the replay memory holds {} transitions, less than a batch of {}", options.capacity,
             config.batch);
  // Frames that no transition refers to yet: those of steps whose n-step return is still open, in
  // every copy of every actor.
  options.open_frames = (config.n_step + 2) * config.copies * std::max<int64_t>(1, config.actors);
  // Frames of a parcel come before its transitions, two of each at most.
  if (config.actors > 0) options.open_frames += 2 * config.send_every;
  options.sampler = config.sampler();
  return options;
}

void require_learnable(const RlConfig& config, const EnvSpec& spec) {
  if (!config.is_tabular()) {
    make_q_network(config, spec, 1);
    replay_options(config, spec);
    return;
  }
  TY_REQUIRE(spec.encoding == Encoding::kCell,
             "`agent` {} needs an environment whose states can be counted, as CliffWalking-v1 or "
             "FrozenLake-v1; {} has observations of {} numbers. Try `agent` dqn",
             config.agent, spec.name, spec.observation_size());
  TY_REQUIRE(config.agent != "differential" || spec.continuing,
             "`agent` differential learns the average reward of a task that never ends, as "
             "AccessControl-v1; episodes of {} end. Try `agent` q-learning",
             spec.name);
}

// Bins by powers of two of how much likelier than uniform a transition is.
std::vector<PriorityBin> priority_histogram(const RlConfig& config, const ReplayMemory& memory) {
  if (config.replay == "uniform" || memory.size() == 0) return {};
  std::map<int, int64_t> counts;
  for (int64_t number = memory.begin(); number < memory.end(); ++number) {
    const double likely = memory.sampler().probability(number % memory.capacity()) *
                          static_cast<double>(memory.size());
    if (likely > 0) ++counts[static_cast<int>(std::floor(std::log2(likely)))];
  }
  std::vector<PriorityBin> bins;
  for (int power = counts.begin()->first; power <= counts.rbegin()->first; ++power) {
    bins.push_back({std::exp2(power), counts[power]});
  }
  return bins;
}

// A predictor of its own, so that evaluations neither change nor wait for the acting network. The
// seed is apart from that of training.
Evaluation evaluate_learner(const Learner& learner) {
  const RlConfig& config = learner.config();
  std::shared_ptr<train::Predictor> network;
  const MakePolicy make = [&](int64_t copies) -> Policy {
    network = learner.predictor(copies);
    return [network](std::span<const float> seen, std::span<float> values) {
      std::copy(seen.begin(), seen.end(), network->input(0).values<float>().begin());
      network->run();
      const std::span<const float> out = network->output(0).values<float>();
      std::copy(out.begin(), out.end(), values.begin());
    };
  };
  return evaluate_policy(config.env, make,
                         {.episodes = config.eval_episodes,
                          .epsilon = config.eval_epsilon,
                          .seed = static_cast<uint64_t>(config.seed) + 1000003});
}

void write_policy(const runs::RunDirectory& directory, const Learner& learner) {
  // Batch 1, whatever the run used; states carry over by name.
  Graph trained = make_q_network(learner.config(), learner.spec(), 1);
  learner.step().copy_weights_to(trained);
  std::vector<runs::NamedType> states;
  for (size_t i = 0; i < learner.step().num_model_states(); ++i) {
    states.push_back({learner.step().states()[i].name, learner.step().states()[i].type});
  }
  train::write_model(directory.path(), "q-network", trained, states, {});
}

// The weights are shared by all policies that it makes; each has a context of its own.
MakePolicy network_policy(const RlConfig& config, const Graph& trained) {
  const auto weights = std::make_shared<const Graph>(trained);
  return [config, weights](int64_t copies) -> Policy {
    const auto environment = make_environment(config.env, 1);
    Graph graph = make_q_network(config, environment->spec(), copies);
    for (const ValueId id : graph.initializers()) {
      const ValueId other = weights->find_value(graph.value(id).name);
      // Initializers that are not weights, such as shapes, keep the constants of the new graph.
      if (other.valid()) graph.mutable_value(id).constant = weights->value(other).constant;
    }
    runtime::CompileOptions options;
    options.threads = 1;
    const auto context =
        std::make_shared<runtime::ExecutionContext>(runtime::compile(std::move(graph), options));
    return [context](std::span<const float> seen, std::span<float> values) {
      std::copy(seen.begin(), seen.end(), context->input(0).values<float>().begin());
      context->run();
      const std::span<const float> out = context->output(0).values<float>();
      std::copy(out.begin(), out.end(), values.begin());
    };
  };
}

RlConfig load_config(const std::filesystem::path& directory) {
  const std::filesystem::path settings = directory / "config.yaml";
  TY_REQUIRE(std::filesystem::exists(settings), "'{}' is no run: it has no config.yaml",
             directory.string());
  RlConfig config;
  settings_of(config).read_yaml(read_file(settings), settings.string());
  return config;
}

SavedPolicy load_policy(const std::filesystem::path& directory) {
  SavedPolicy saved;
  saved.config = load_config(directory);
  const auto environment = make_environment(saved.config.env, 1);
  if (saved.config.is_tabular()) {
    saved.make = table_policy(directory / kTableFile, environment->spec());
    return saved;
  }
  const std::filesystem::path weights = directory / "model.safetensors";
  TY_REQUIRE(std::filesystem::exists(weights), "'{}' has no weights yet: the run has not ended",
             directory.string());
  Graph graph = make_q_network(saved.config, environment->spec(), 1);
  network::load_weights(graph, weights.string());
  saved.make = network_policy(saved.config, graph);
  return saved;
}

}  // namespace trainyard::rl
