// The pieces of Q-learning beside the worked numbers of tests/rl/algo_pieces.json.
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "ops/builder.h"
#include "rl/agents/learner.h"
#include "rl/agents/q_objective.h"
#include "rl/agents/run.h"
#include "rl/agents/run_files.h"
#include "rl/agents/table.h"
#include "rl/distributed/train_agent.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "train/update_nodes.h"

namespace trainyard::rl {
namespace {

Json worked(const char* part) {
  const std::filesystem::path file = std::filesystem::path(TY_RL_DIR) / "algo_pieces.json";
  return Json::parse(read_file(file), file.string()).at(part);
}

std::vector<float> floats(const Json& list) {
  std::vector<float> values;
  for (const Json& item : list.items()) {
    if (item.is_array()) {
      const std::vector<float> row = floats(item);
      values.insert(values.end(), row.begin(), row.end());
    } else {
      values.push_back(static_cast<float>(item.as_number()));
    }
  }
  return values;
}

void expect_near(std::span<const float> found, const Json& expected, double tolerance) {
  const std::vector<float> wanted = floats(expected);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], tolerance) << i;
}

TEST(QTargets, WorkedNumbersOfPlainAndDouble) {
  const Json numbers = worked("targets");
  const std::vector<float> rewards = floats(numbers.at("rewards"));
  const std::vector<float> online = floats(numbers.at("q_online_next"));
  const std::vector<float> target = floats(numbers.at("q_target_next"));
  std::vector<float> discounts;
  for (const float terminated : floats(numbers.at("terminated"))) {
    discounts.push_back(terminated != 0 ? 0.0F : 0.99F);
  }
  std::vector<float> made(rewards.size());
  q_targets({rewards, discounts, target, target}, made);
  expect_near(made, numbers.at("target_dqn"), 1e-6);
  q_targets({rewards, discounts, target, online}, made);
  expect_near(made, numbers.at("target_double"), 1e-6);
}

// A network whose values are its weights, one row per sample.
Graph row_network(const std::vector<float>& values, int64_t rows, int64_t actions) {
  Graph graph("rows");
  ops::Builder builder(graph);
  const ValueId x = builder.input("observation", {DType::kF32, Shape{rows, actions}});
  const ValueId bias = builder.parameter("values", Shape{rows, actions}, init_constant(0));
  const ValueId out = builder.add("Add", {x, bias});
  graph.set_outputs({out});
  Tensor given(DType::kF32, Shape{rows, actions});
  std::copy(values.begin(), values.end(), given.values<float>().begin());
  graph.mutable_value(bias).constant = std::make_shared<const Tensor>(std::move(given));
  return graph;
}

TEST(QObjective, WorkedLossErrorsAndGradients) {
  const Json numbers = worked("targets");
  const std::vector<float> actions = floats(numbers.at("actions"));
  const auto rows = static_cast<int64_t>(actions.size());
  for (const std::string loss : {"huber", "mse"}) {
    train::StepOptions options;
    options.training.objective = QLearningObjective{loss};
    options.threads = 1;
    options.update = false;
    train::TrainingStep step(row_network(floats(numbers.at("q_online")), rows, 3), options);
    for (int64_t i = 0; i < rows; ++i) {
      const auto row = static_cast<size_t>(i);
      step.input(kTakenInput).values<float>()[row * 3 + static_cast<size_t>(actions[row])] = 1;
      step.input(kTargetInput).values<float>()[row] = floats(numbers.at("target_dqn"))[row];
      step.input(kWeightInput).values<float>()[row] = 1;
    }
    step.run(0);
    const char* expected = loss == "huber" ? "huber_delta1_mean" : "mse_mean";
    EXPECT_NEAR(step.loss(), numbers.at(expected).as_number(), 1e-6);
    std::vector<float> errors;
    for (const float error : step.metric_tensor(kErrorMetric).values<float>()) {
      errors.push_back(-error);
    }
    expect_near(errors, numbers.at("td_error_dqn"), 1e-6);
    if (loss == "mse") continue;
    const std::vector<float> slopes = floats(numbers.at("grad_huber_wrt_q_taken"));
    for (size_t row = 0; row < slopes.size(); ++row) {
      for (size_t a = 0; a < 3; ++a) {
        const float slope = step.gradient(0).values<float>()[row * 3 + a];
        EXPECT_NEAR(slope, a == static_cast<size_t>(actions[row]) ? slopes[row] : 0, 1e-6);
      }
    }
  }
}

TEST(Schedules, WorkedEpsilons) {
  const Json actors = worked("apex_epsilon");
  for (const auto& [count, expected] : actors.members()) {
    const int64_t n = std::stoll(count);
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_NEAR(actor_epsilon(i, n), expected.items()[static_cast<size_t>(i)].as_number(), 1e-9);
    }
  }
  const Json linear = worked("linear_epsilon");
  const EpsilonSchedule schedule{"linear", 1, 0.1, 100, 10};
  for (const auto& [step, value] : linear.at("values").members()) {
    EXPECT_NEAR(schedule.at(std::stoll(step)), value.as_number(), 1e-12) << step;
  }
  const EpsilonSchedule falling{"exponential", 1, 0, 100, 0};
  EXPECT_NEAR(falling.at(100), 0.01, 1e-12);
}

TEST(Optimizers, WorkedStepsOfRmsPropAndAdagrad) {
  const Json numbers = worked("optimizers");
  const std::pair<const char*, double> cases[] = {{"rmsprop", 2.5e-4}, {"adagrad", 0.01}};
  for (const auto& [kind, rate] : cases) {
    const bool centered = std::string(kind) == "rmsprop";
    train::OptimizerOptions options;
    options.kind = kind;
    options.epsilon = 1e-10;
    const runs::NamedType parameter{"w", {DType::kF32, Shape{3}}};
    const train::TrainingGraph made = train::make_update_graph({&parameter, 1}, options);
    train::StepOptions step;
    step.threads = 1;
    runtime::ExecutionContext context(train::compile_step(made, step));
    Tensor start(DType::kF32, Shape{3});
    const std::vector<float> first = floats(numbers.at("start"));
    std::copy(first.begin(), first.end(), start.values<float>().begin());
    context.set_state(0, start);
    const Json& rows = numbers.at(centered ? "rmsprop_centered_eps_outside_sqrt" : "adagrad_lr001");
    for (size_t k = 0; k < rows.items().size(); ++k) {
      const std::vector<float> gradient = floats(numbers.at("gradients").items()[k]);
      std::copy(gradient.begin(), gradient.end(), context.input(0).values<float>().begin());
      context.input(1).values<float>()[0] = static_cast<float>(rate);
      context.input(2).values<int64_t>()[0] = static_cast<int64_t>(k) + 1;
      context.run();
      expect_near(context.state(0).values<float>(), rows.items()[k], 2e-6);
    }
  }
}

RlConfig tiny(const std::string& env, const std::string& agent) {
  RlConfig config = preset_config(env, agent);
  config.hidden = "16";
  config.batch = 16;
  config.start = 100;
  config.steps = 600;
  config.capacity = 400;
  config.target_every = 20;
  config.log_every = 100;
  config.eval_episodes = 3;
  return config;
}

TEST(QNetwork, DuelingIsValueAndAdvantagesLessTheirMean) {
  const Json numbers = worked("dueling");
  const std::vector<float> value = floats(numbers.at("value"));
  const std::vector<float> advantage = floats(numbers.at("advantage"));
  RlConfig config = tiny("CartPole-v1", "dueling");
  config.hidden = "";
  config.batch = 1;
  const EnvSpec spec{.name = "x", .shape = {1}, .actions = 5};
  for (size_t row = 0; row < value.size(); ++row) {
    Learner learner(config, spec);
    train::TrainingStep& step = learner.step();
    for (size_t i = 0; i < step.num_model_states(); ++i) {
      Tensor weights = Tensor::zeros(step.states()[i].type);
      const std::span<float> to = weights.values<float>();
      if (step.states()[i].name == "value.bias") to[0] = value[row];
      if (step.states()[i].name == "advantage.bias") {
        std::copy_n(advantage.begin() + static_cast<int64_t>(row) * 5, 5, to.begin());
      }
      step.set_state(i, weights);
    }
    const auto network = learner.predictor(1);
    network->run();
    expect_near(network->output(0).values<float>(), numbers.at("q_mean").items()[row], 1e-6);
  }
}

TEST(QNetwork, MustGiveAValuePerAction) {
  const EnvSpec spec = make_environment("CartPole-v1", 1)->spec();
  RlConfig config = tiny("CartPole-v1", "dqn");
  config.model = "lenet5";
  EXPECT_THROW(make_q_network(config, spec, 4), Error);
  config.model = "auto";
  config.hidden = "16,x";
  EXPECT_THROW(make_q_network(config, spec, 4), Error);
}

TEST(Learner, ATargetNetworkFollowsByCopyOrByShares) {
  RlConfig config = tiny("CartPole-v1", "dqn-2015");
  config.tau = 0.005;
  const EnvSpec spec = make_environment("CartPole-v1", 1)->spec();
  Learner learner(config, spec);
  Tensor moved = learner.step().state(0);
  for (float& weight : moved.values<float>()) weight += 1;
  learner.step().set_state(0, moved);
  const float before = learner.target()->state(0).values<float>()[0];
  learner.set_updates(config.target_every);
  learner.move_target(false);
  EXPECT_NEAR(learner.target()->state(0).values<float>()[0], before + 0.005, 1e-5);
  learner.move_target(true);
  EXPECT_EQ(learner.target()->state(0).values<float>()[0], moved.values<float>()[0]);
}

TEST(Table, FindsTheOptimalPathAlongTheCliff) {
  RlConfig config = preset_config("CliffWalking-v1", "q-learning");
  const RunResult result = train_agent(config, nullptr, {});
  EXPECT_EQ(result.evaluations.back().result.mean, -13);
  config.agent = "sarsa";
  const RunResult safe = train_agent(config, nullptr, {});
  EXPECT_LT(safe.evaluations.back().result.mean, -13) << "on-policy, it keeps off the edge";
  config.env = "CartPole-v1";
  EXPECT_THROW(train_agent(config, nullptr, {}), Error);
}

TEST(Dqn, EveryPresetRunsAndCountsAreRight) {
  for (const std::string& agent : agent_names()) {
    // Whose task has no end.
    const bool continuing = agent == "differential";
    RlConfig config = tiny(continuing ? "AccessControl-v1" : "FrozenLake-v1", agent);
    config.actors = std::min<int64_t>(config.actors, 1);
    config.send_every = 20;
    config.replay_ratio = 4;
    config.threads = 1;
    const RunResult result = train_agent(config, nullptr, {});
    EXPECT_GE(result.steps, config.steps) << agent;
    EXPECT_EQ(result.evaluations.size(), 1U) << agent;
    if (agent != "apex") continue;
    EXPECT_NEAR(result.samples_per_transition, config.replay_ratio, 0.6);
    EXPECT_GE(result.policy_lag, 0);
  }
}

std::vector<float> weights_of(const std::filesystem::path& run) {
  const runs::SafetensorsFile file(run / "model.safetensors");
  std::vector<float> all;
  for (const runs::StoredTensor& named : file.tensors()) {
    const Tensor tensor = file.tensor(named.name);
    all.insert(all.end(), tensor.values<float>().begin(), tensor.values<float>().end());
  }
  return all;
}

TEST(Dqn, AResumedRunGoesOnBitByBit) {
  const TemporaryFolder folder("dqn");
  RlConfig config = tiny("breakout", "rainbow-lite");
  config.copies = 2;
  std::vector<float> whole;
  {
    const auto directory = runs::RunDirectory::create(folder.path(), "whole", "m", "d");
    train_agent(config, &directory, {});
    whole = weights_of(directory.path());
  }
  const auto directory = runs::RunDirectory::create(folder.path(), "parts", "m", "d");
  for (const int asked : {130, 220, 1 << 20}) {
    RunHooks hooks;
    hooks.should_stop = [count = 0, asked]() mutable { return ++count > asked; };
    train_agent(config, &directory, hooks);
  }
  EXPECT_EQ(weights_of(directory.path()), whole);
  RlConfig other = config;
  other.gamma = 0.5;
  EXPECT_THROW(train_agent(other, &directory, {}), Error);
}

TEST(Gorila, AStoppedRunResumesWithServersAndReplay) {
  const TemporaryFolder folder("gorila");
  RlConfig config = tiny("CartPole-v1", "gorila");
  config.learners = 2;
  config.threads = 1;
  const int64_t updates = (config.steps - config.start) / config.train_every * config.updates;
  const auto directory = runs::RunDirectory::create(folder.path(), "run", "m", "d");
  RunHooks hooks;
  hooks.should_stop = [count = 0]() mutable { return ++count > 30; };
  const RunResult first = train_agent(config, &directory, hooks);
  EXPECT_TRUE(first.stopped);
  EXPECT_LT(first.updates, updates);
  const RunResult second = train_agent(config, &directory, {});
  EXPECT_FALSE(second.stopped);
  EXPECT_EQ(second.updates, updates);
  // Nobody acts a second time before the first update.
  EXPECT_GT(second.steps, first.steps);
  EXPECT_NEAR(static_cast<double>(second.steps), static_cast<double>(config.steps), 20);
  RlConfig other = config;
  other.gamma = 0.5;
  EXPECT_THROW(train_agent(other, &directory, {}), Error);
}

TEST(Dqn, ValuesThatAreNotFiniteNameTheStep) {
  RlConfig config = tiny("CartPole-v1", "dqn-2013");
  config.learning_rate = 1e30;
  config.optimizer = "sgd";
  config.clip_norm = 0;
  config.loss = "mse";
  try {
    train_agent(config, nullptr, {});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("step "), std::string::npos) << failure.what();
  }
}

TEST(Apex, AnActorWhoseEnvironmentDiesBeginsAgain) {
  const TemporaryFolder folder("mortal");
  const std::string script = (folder / "mortal.py").string();
  write_file(script, R"(
import json, sys
print(json.dumps({"shape": [1], "actions": 2}), flush=True)
for count, line in enumerate(sys.stdin):
    if count == 90: sys.exit(3)
    print(json.dumps({"observation": [count % 7], "reward": 1, "terminated": count % 7 == 6}),
          flush=True)
)");
  RlConfig config = tiny("exec:python3 " + script, "apex");
  config.actors = 2;
  config.steps = 300;
  config.send_every = 20;
  config.eval_episodes = 1;
  std::string notes;
  RunHooks hooks;
  hooks.note = [&](const std::string& text) { notes += text + "\n"; };
  const RunResult result = train_agent(config, nullptr, hooks);
  EXPECT_GE(result.steps, 300);
  EXPECT_NE(notes.find("actor 1 begins again: the environment"), std::string::npos) << notes;
}

// The memory then holds neither a parcel nor the steps before the first update.
TEST(Apex, LearnsWithAMemoryOfABatch) {
  RlConfig config = tiny("CartPole-v1", "apex");
  config.actors = 1;
  config.steps = 400;
  config.capacity = 32;
  config.send_every = 150;
  config.eval_episodes = 1;
  const RunResult result = train_agent(config, nullptr, {});
  EXPECT_GE(result.steps, 400);
  EXPECT_GT(result.updates, 0);
}

TEST(Config, WrongNumbersAreWrongRequests) {
  RlConfig config = tiny("CartPole-v1", "dqn");
  config.capacity = 8;
  EXPECT_THROW(check(config), Error);
  config = tiny("CartPole-v1", "dqn");
  config.tau = 0;
  EXPECT_THROW(check(config), Error);
  EXPECT_THROW(preset_config("CartPole-v1", "dnq"), Error);
  // How many transitions that is depends on the environment.
  config = tiny("CartPole-v1", "dqn");
  config.replay_mb = 0.0001;
  EXPECT_THROW(require_learnable(config, make_environment(config.env, 1)->spec()), Error);
}

// A cell or action of the environment that a table lacks would be read from behind it.
TEST(QTable, RefusesTablesOfOtherEnvironments) {
  const TemporaryFolder folder("q_table");
  const EnvSpec spec = make_environment("FrozenLake-v1", 1)->spec();
  ASSERT_EQ(spec.observation_size() * spec.actions, 64);
  const auto said = [&](int64_t cells, int64_t actions) {
    write_file(folder / "table.json", QTable(cells, actions).json().dump(-1));
    return message_of([&] { table_policy(folder / "table.json", spec); });
  };
  EXPECT_EQ(said(16, 4), "no error");
  EXPECT_EQ(said(15, 4),
            "a table of 60 values for 4 actions, expected 64 values for the 4 actions of "
            "FrozenLake-v1");
  EXPECT_NE(said(32, 2).find("a table of 64 values for 2 actions"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::rl
