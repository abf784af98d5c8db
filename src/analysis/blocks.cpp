#include "analysis/blocks.h"

#include <algorithm>
#include <utility>

namespace trainyard::analysis {
namespace {

// A value that is used all over the network, as a mask of attention is, carries nothing.
constexpr size_t kFarShare = 4;  // of the nodes: more than 1 / 4 apart, and more than two uses

// Where each node stands in the order.
std::vector<size_t> places_of(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<size_t> places(graph.node_limit());
  for (size_t i = 0; i < order.size(); ++i) places[static_cast<size_t>(order[i].index)] = i;
  return places;
}

// After which nodes exactly one value is still needed.
std::vector<bool> find_cuts(const Graph& graph, const std::vector<NodeId>& order) {
  const std::vector<size_t> places = places_of(graph, order);
  std::vector<int64_t> change(order.size() + 1, 0);  // of the number of values under way
  for (size_t i = 0; i < order.size(); ++i) {
    for (const ValueId output : graph.node(order[i]).outputs) {
      if (!output.valid()) continue;
      const Value& value = graph.value(output);
      size_t last = i;
      for (const NodeId user : value.consumers) {
        last = std::max(last, places[static_cast<size_t>(user.index)]);
      }
      const bool far = value.consumers.size() > 2 && (last - i) * kFarShare > order.size();
      if (last == i || far) continue;
      ++change[i];
      --change[last];
    }
  }
  std::vector<bool> cuts(order.size(), false);
  int64_t open = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    open += change[i];
    cuts[i] = open <= 1;
  }
  return cuts;
}

Block joined(std::vector<Block> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Block block;
  block.num_nodes = 0;
  for (const Block& part : parts) block.num_nodes += part.num_nodes;
  block.inside = std::move(parts);
  return block;
}

const Shape& shape_after(const Graph& graph, const Block& block) {
  static const Shape kNone;
  const Block* last = &block;
  while (!last->inside.empty()) last = &last->inside.back();
  for (const ValueId output : graph.node(last->node).outputs) {
    if (output.valid()) return graph.value(output).type.shape;
  }
  return kNone;
}

// Neighbors that `may_join` become one.
template <typename MayJoin>
std::vector<Block> join_neighbors(std::vector<Block> blocks, const MayJoin& may_join) {
  std::vector<Block> out;
  std::vector<Block> group;
  for (Block& block : blocks) {
    if (!group.empty() && !may_join(group.back(), block)) {
      out.push_back(joined(std::exchange(group, {})));
    }
    group.push_back(std::move(block));
  }
  if (!group.empty()) out.push_back(joined(std::move(group)));
  return out;
}

// The activation behind a sum belongs to the block that it ends.
std::vector<Block> with_tails(const Graph& graph, std::vector<Block> blocks) {
  std::vector<Block> out;
  for (Block& block : blocks) {
    const bool is_tail = !out.empty() && !out.back().inside.empty() && block.inside.empty() &&
                         shape_after(graph, out.back()) == shape_after(graph, block);
    if (is_tail) {
      ++out.back().num_nodes;
      out.back().inside.push_back(std::move(block));
    } else {
      out.push_back(std::move(block));
    }
  }
  return out;
}

}  // namespace

std::vector<Block> find_blocks(const Graph& graph) {
  const std::vector<NodeId> order = graph.node_ids();
  const std::vector<bool> cuts = find_cuts(graph, order);
  std::vector<Block> blocks;
  std::vector<Block> group;
  for (size_t i = 0; i < order.size(); ++i) {
    group.push_back({.node = order[i]});
    if (cuts[i]) blocks.push_back(joined(std::exchange(group, {})));
  }
  if (!group.empty()) blocks.push_back(joined(std::move(group)));
  blocks = with_tails(graph, std::move(blocks));
  const auto same_shape = [&](const Block& a, const Block& b) {
    return shape_after(graph, a) == shape_after(graph, b);
  };
  blocks = join_neighbors(std::move(blocks), [&](const Block& a, const Block& b) {
    return a.inside.empty() && b.inside.empty() && same_shape(a, b);
  });
  return join_neighbors(std::move(blocks), [&](const Block& a, const Block& b) {
    return !a.inside.empty() && !b.inside.empty() && same_shape(a, b);
  });
}

}  // namespace trainyard::analysis
