#include "train/sharding.h"

#include <numeric>

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

TEST(Sharding, EveryRuleDealsEveryParameterOnce) {
  const std::vector<int64_t> elements = {100, 5, 7, 60, 60, 1, 1, 30, 2};
  for (const char* rule : {"even", "hash", "paa"}) {
    std::vector<size_t> all;
    for (const auto& shard : shard_parameters(elements, 4, parse_shard_rule(rule))) {
      EXPECT_FALSE(shard.empty()) << rule;
      all.insert(all.end(), shard.begin(), shard.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<size_t> expected(elements.size());
    std::iota(expected.begin(), expected.end(), size_t{0});
    EXPECT_EQ(all, expected) << rule;
  }
  EXPECT_THROW(parse_shard_rule("pa"), Error);
}

}  // namespace
}  // namespace trainyard::train
