// The learner of an agent on torch:cpu beside the one on our engine.
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "rl/agents/actor.h"
#include "rl/agents/learner.h"
#include "rl/agents/run.h"
#include "rl/agents/run_files.h"

namespace trainyard::rl {
namespace {

constexpr double kValueTolerance = 1e-3;  // relative

RlConfig config_on(const char* env, const char* agent, const char* device) {
  RlConfig config = preset_config(env, agent);
  config.batch = 16;
  config.capacity = 400;
  config.target_every = 5;
  config.device = device;
  return config;
}

// What a learner makes of the transitions of random actions.
std::vector<UpdateReport> updates_on(const RlConfig& config) {
  Actor actor(make_environment(config.env, 1), actor_options(config));
  ReplayMemory memory(actor.spec(), replay_options(config, actor.spec()));
  const auto add_frame = [&](std::span<const float> frame) { return memory.add_frame(frame); };
  const auto add = [&](const Transition& transition) { memory.add(transition); };
  actor.begin(add_frame);
  for (int i = 0; i < 200; ++i) actor.step(/*epsilon=*/1, {}, add_frame, add);
  Learner learner(config, actor.spec());
  EventStream sampling(1, 1);
  std::vector<UpdateReport> reports;
  for (int i = 0; i < 20; ++i) {
    reports.push_back(learner.update(memory, config.learning_rate, config.beta, sampling));
  }
  return reports;
}

TEST(TorchLearner, LearnsWhatOurEngineLearns) {
  for (const auto& [env, agent] :
       {std::pair("CartPole-v1", "double"), std::pair("MinAtar/Breakout-v1", "dqn-2015")}) {
    SCOPED_TRACE(env);
    const std::vector<UpdateReport> expected = updates_on(config_on(env, agent, "cpu"));
    const std::vector<UpdateReport> found = updates_on(config_on(env, agent, "torch:cpu"));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i].loss, expected[i].loss, kValueTolerance * expected[i].loss) << i;
      EXPECT_NEAR(found[i].mean_value, expected[i].mean_value,
                  kValueTolerance * std::abs(expected[i].mean_value) + 1e-6)
          << i;
    }
  }
}

// A setting that does nothing would be believed.
TEST(TorchLearner, IsRefusedWhereTablesLearn) {
  RlConfig config = preset_config("CliffWalking-v1", "q-learning");
  config.device = "torch:cpu";
  EXPECT_THROW(check(config), Error);
}

}  // namespace
}  // namespace trainyard::rl
