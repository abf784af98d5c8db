#include "train/token_sampler.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/builder.h"

namespace trainyard::train {
namespace {

// Scores that say: after token t comes t + 1, of five.
Graph counting_network(int64_t length) {
  Graph graph("counts");
  ops::Builder b(graph);
  const ValueId tokens = b.input("tokens", {DType::kI64, {1, length}});
  Tensor table = Tensor::zeros({DType::kF32, {5, 5}});
  for (size_t t = 0; t < 5; ++t) table.values<float>()[t * 5 + (t + 1) % 5] = 20;
  const ValueId scores = b.add("Gather", {b.constant("table", std::move(table)), tokens});
  graph.set_outputs({scores});
  return graph;
}

TEST(TokenSampler, FollowsWhatTheNetworkSays) {
  TokenSampler sampler(counting_network(3), 1);
  EXPECT_EQ(sampler.length(), 3);
  EXPECT_EQ(sampler.vocabulary(), 5);
  const std::vector<int64_t> expected = {3, 4, 0, 1, 2, 3};
  EXPECT_EQ(sampler.follow(std::vector<int64_t>{1, 2}, 6, {.temperature = 0}), expected);
  // The others have a chance of e^-20.
  EXPECT_EQ(sampler.follow(std::vector<int64_t>{0, 1, 2, 1, 2}, 6, {}), expected);
  EXPECT_THROW(sampler.follow(std::vector<int64_t>{}, 1, {}), Error);
  EXPECT_THROW(sampler.follow(std::vector<int64_t>{5}, 1, {}), Error);
}

TEST(TokenSampler, ChoosesByChanceAmongTheLikeliest) {
  const std::vector<float> scores = {0, 1, 2, 2};
  EXPECT_EQ(choose_token(scores, {.temperature = 0}, 0), 2);
  std::vector<int64_t> counts(4);
  std::vector<int64_t> of_three(4);
  for (uint64_t i = 0; i < 4000; ++i) {
    ++counts[static_cast<size_t>(choose_token(scores, {}, i))];
    ++of_three[static_cast<size_t>(choose_token(scores, {.top_k = 3}, i))];
  }
  // Shares of 0.0541, 0.147, 0.399 and 0.399.
  EXPECT_NEAR(static_cast<double>(counts[0]) / 4000, 0.0541, 0.015);
  EXPECT_NEAR(static_cast<double>(counts[2]) / 4000, 0.399, 0.03);
  EXPECT_EQ(of_three[0], 0);
  EXPECT_GT(of_three[1], 0);
}

TEST(TokenSampler, RefusesOtherNetworks) {
  Graph graph("pictures");
  ops::Builder b(graph);
  const ValueId image = b.input("image", {DType::kF32, {1, 3}});
  graph.set_outputs({b.add("Relu", {image})});
  EXPECT_THROW(TokenSampler(std::move(graph), 1), Error);
}

}  // namespace
}  // namespace trainyard::train
