#include "train/sharding.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "fixture.h"

namespace trainyard::train {
namespace {

// The authors' own program (tools/schedule_fixtures.py).
TEST(ShardingOracle, OptimusAssignment) {
  const Json data = schedule::fixture("paa.json");
  for (const auto& [servers, results] : data.at("results").members()) {
    for (size_t i = 0; i < results.items().size(); ++i) {
      const Json& block = data.at("blocks").items()[i];
      SCOPED_TRACE(block.at("model").as_string() + " on " + servers);
      std::vector<int64_t> elements;
      for (const Json& size : block.at("block_sizes").items()) elements.push_back(size.as_int());
      std::vector<double> sizes;
      std::vector<double> requests;
      for (const auto& shard : assign_with_cuts(elements, std::stoll(servers))) {
        double sum = 0;
        for (const ParameterPiece& piece : shard) sum += static_cast<double>(piece.elements);
        sizes.push_back(sum);
        requests.push_back(static_cast<double>(shard.size()));
      }
      const Json& expected = results.items()[i];
      EXPECT_EQ(sizes, schedule::numbers(expected.at("parameters_per_server")));
      EXPECT_EQ(requests, schedule::numbers(expected.at("requests_per_server")));
    }
  }
}

TEST(Sharding, EveryRuleDealsEveryElementOnce) {
  const std::vector<int64_t> few_large = {100, 5, 7, 60, 60, 1, 1, 30, 2};
  // With one server each, rounding the fair part down leaves some with more than it.
  const std::vector<int64_t> as_many = {2, 2, 2, 2, 2, 2, 1};
  for (const std::vector<int64_t>& elements : {few_large, {5, 5, 1, 1}, {1000, 1, 1, 1}, as_many}) {
    const int64_t servers = elements == as_many ? 7 : 4;
    for (const char* rule : {"even", "hash", "paa"}) {
      std::vector<ParameterPiece> all;
      for (const auto& shard : shard_parameters(elements, servers, parse_shard_rule(rule))) {
        EXPECT_FALSE(shard.empty()) << rule;
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<int64_t> dealt(elements.size());
      for (const ParameterPiece& piece : all) {
        EXPECT_EQ(piece.first, dealt[piece.parameter]) << rule;
        EXPECT_GT(piece.elements, 0) << rule;
        dealt[piece.parameter] += piece.elements;
      }
      EXPECT_EQ(dealt, elements) << rule;
    }
  }
  EXPECT_THROW(parse_shard_rule("pa"), Error);
}

}  // namespace
}  // namespace trainyard::train
