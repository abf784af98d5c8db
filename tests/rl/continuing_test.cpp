// The task without an end, and the agent that learns its average reward.
#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "rl/agents/run.h"
#include "rl/agents/run_files.h"
#include "rl/agents/view.h"
#include "rl/distributed/train_agent.h"
#include "support/error_message.h"

namespace trainyard::rl {
namespace {

constexpr int kServers = 10;
constexpr double kDone = 0.06;
constexpr std::array<double, 4> kPays = {1, 2, 4, 8};

// The chance that so many of the busy servers are done.
double binomial(int busy, int done) {
  double ways = 1;
  for (int i = 0; i < done; ++i) ways = ways * (busy - i) / (i + 1);
  return ways * std::pow(kDone, done) * std::pow(1 - kDone, busy - done);
}

// The largest average reward there is, by relative value iteration over the model of the queue.
double best_average() {
  std::array<double, kServers + 1> worth{};  // of so many free servers, over all customers
  double gain = 0;
  for (int sweep = 0; sweep < 3000; ++sweep) {
    std::array<double, kServers + 1> after{};
    for (int free = 0; free <= kServers; ++free) {
      const int busy = kServers - free;
      for (int done = 0; done <= busy; ++done)
        after[free] += binomial(busy, done) * worth[free + done];
    }
    for (int free = 0; free <= kServers; ++free) {
      worth[free] = 0;
      for (const double pay : kPays) {
        worth[free] += std::max(after[free], free == 0 ? -1e9 : pay + after[free - 1]) / 4;
      }
    }
    gain = worth[kServers];
    for (double& value : worth) value -= gain;
  }
  return gain;
}

TEST(Continuing, TheQueueNeverEndsAndPaysForAcceptedCustomers) {
  const auto queue = make_environment("AccessControl-v1", 1);
  ASSERT_TRUE(queue->spec().continuing);
  std::vector<float> seen(static_cast<size_t>(queue->spec().observation_size()));
  queue->reset(5, seen);
  double total = 0;
  int freed = 0;
  int busy_steps = 0;
  for (int step = 0; step < 20000; ++step) {
    const int64_t before = queue->state(0).as_int();
    const int64_t customer = before % 4;
    const int32_t accept = 1;
    Outcome outcome;
    queue->step({&accept, 1}, seen, {&outcome, 1});
    ASSERT_FALSE(outcome.ended());
    const int64_t free = before / 4;
    ASSERT_EQ(outcome.reward, free > 0 ? kPays[static_cast<size_t>(customer)] : 0);
    total += static_cast<double>(outcome.reward);
    const auto busy = static_cast<int>(kServers - (free > 0 ? free - 1 : 0));
    busy_steps += busy;
    freed += static_cast<int>(queue->state(0).as_int() / 4 - (kServers - busy));
  }
  EXPECT_NEAR(static_cast<double>(freed) / busy_steps, kDone, 0.002);
  // Of always accepting, by the same model.
  EXPECT_NEAR(total / 20000, 2.18, 0.05);
}

TEST(Continuing, TheDifferentialAgentComesNearTheBestAverageReward) {
  const double best = best_average();
  EXPECT_NEAR(best, 2.7476, 1e-4);
  RlConfig config = preset_config("AccessControl-v1", "differential");
  config.eval_episodes = 100;
  const RunResult result = train_agent(config, nullptr, {});
  const Evaluation& last = result.evaluations.back().result;
  EXPECT_EQ(last.mean_steps, 1000);
  EXPECT_GT(last.mean / last.mean_steps, 0.97 * best);
  EXPECT_LT(last.mean / last.mean_steps, 1.02 * best);
  // What it learned is of the policy that explores, which earns less.
  EXPECT_GT(result.average_reward, 0.8 * best);
  EXPECT_LT(result.average_reward, best);
  EXPECT_EQ(result.table_values.size(), 88U);
}

TEST(Continuing, OtherTasksAreRefused) {
  const RlConfig config = preset_config("CliffWalking-v1", "differential");
  EXPECT_EQ(message_of([&] { require_learnable(config, make_environment(config.env, 1)->spec()); }),
            "`agent` differential learns the average reward of a task that never ends, as "
            "AccessControl-v1; episodes of CliffWalking-v1 end. Try `agent` q-learning");
}

TEST(Priorities, AreSharesOfPowersOfErrorsAndOfRanks) {
  const std::vector<double> errors = {-1, 4, 0.25};
  const Json rows = cli::priorities_document(errors, 0.5, 1).data.at("rows");
  // Roots 1, 2 and 0.5 of 3.5, and 1/sqrt(2), 1, 1/sqrt(3).
  EXPECT_NEAR(rows.items()[0].at("probability").as_number(), 1 / 3.5, 1e-5);
  EXPECT_NEAR(rows.items()[1].at("probability").as_number(), 2 / 3.5, 1e-5);
  EXPECT_NEAR(rows.items()[2].at("weight").as_number(), 1, 1e-5);
  EXPECT_NEAR(rows.items()[1].at("weight").as_number(), 0.25, 1e-5);
  EXPECT_EQ(rows.items()[0].at("rank").as_int(), 2);
  const double ranks = 1 + 1 / std::sqrt(2.0) + 1 / std::sqrt(3.0);
  EXPECT_NEAR(rows.items()[0].at("rank_probability").as_number(), 1 / std::sqrt(2.0) / ranks, 1e-9);
  EXPECT_NEAR(rows.items()[2].at("rank_probability").as_number(), 1 / std::sqrt(3.0) / ranks, 1e-9);
}

}  // namespace
}  // namespace trainyard::rl
