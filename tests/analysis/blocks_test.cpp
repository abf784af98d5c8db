#include "analysis/blocks.h"

#include <chrono>

#include <gtest/gtest.h>

#include "analysis/layout.h"
#include "models/zoo/model.h"

namespace trainyard::analysis {
namespace {

Graph built(const char* name) {
  Graph graph = models::build_model(name, {});
  graph.sort();
  return graph;
}

int64_t leaves(const Block& block) {
  if (block.inside.empty()) return 1;
  int64_t count = 0;
  for (const Block& part : block.inside) count += leaves(part);
  return count;
}

TEST(Blocks, HoldEveryNodeOnce) {
  for (const char* name : {"lenet5", "resnet50", "inception_v3", "densenet121"}) {
    const Graph graph = built(name);
    int64_t count = 0;
    int64_t said = 0;
    for (const Block& block : find_blocks(graph)) {
      count += leaves(block);
      said += block.num_nodes;
    }
    EXPECT_EQ(count, graph.num_nodes()) << name;
    EXPECT_EQ(said, graph.num_nodes()) << name;
  }
}

TEST(Blocks, FindTheStagesOfAResNet) {
  std::vector<size_t> stages;
  for (const Block& block : find_blocks(built("resnet50"))) {
    size_t residual = 0;
    for (const Block& part : block.inside) residual += part.num_nodes > 6 ? 1 : 0;
    if (residual > 1) stages.push_back(residual);
  }
  EXPECT_EQ(stages, (std::vector<size_t>{3, 4, 6, 3}));
}

TEST(Layout, PutsBoxesBelowWhereTheyComeFrom) {
  // A branch of two, and one around it.
  const std::vector<Place> places =
      place_boxes(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 4}, {3, 4}});
  EXPECT_EQ(places[0].row, 0);
  EXPECT_EQ(places[1].row, 1);
  EXPECT_EQ(places[2].row, 1);
  EXPECT_EQ(places[3].row, 2);
  EXPECT_EQ(places[4].row, 3);
  EXPECT_GE(std::abs(places[1].x - places[2].x), 1);
}

TEST(Layout, KeepsBoxesOfARowApart) {
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t i = 1; i < 10'000; ++i) edges.emplace_back((i - 1) / 3, i);
  const std::vector<Place> places = place_boxes(10'000, edges);
  std::map<int64_t, std::vector<double>> rows;
  for (const Place& place : places) rows[place.row].push_back(place.x);
  for (auto& [row, xs] : rows) {
    std::sort(xs.begin(), xs.end());
    for (size_t i = 1; i < xs.size(); ++i) EXPECT_GE(xs[i] - xs[i - 1], 1 - 1e-6);
  }
}

}  // namespace
}  // namespace trainyard::analysis
