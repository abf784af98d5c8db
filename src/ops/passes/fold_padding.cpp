// fold_padding: a Pad with zeros in front of a convolution becomes the convolution's own padding.
#include <algorithm>

#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

// The padding of the spatial dimensions, begins then ends; empty if there is other padding.
std::vector<int64_t> spatial_zeros(const NodeView& pad) {
  if (pad.op() != "Pad" || pad.attr_text("mode", "constant") != "constant") return {};
  if (pad.has_input(3)) return {};
  if (pad.has_input(2)) {
    const Tensor* fill = pad.input_constant(2);
    if (fill == nullptr || element_as_double(*fill, 0) != 0) return {};
  }
  const auto pads = pad.input_ints(1);
  const int64_t rank = pad.input_shape(0).rank();
  if (!pads || rank < 3 || static_cast<int64_t>(pads->size()) != 2 * rank) return {};
  std::vector<int64_t> spatial;
  for (int64_t i = 0; i < 2 * rank; ++i) {
    const int64_t amount = (*pads)[static_cast<size_t>(i)];
    if (amount < 0 || (i % rank < 2 && amount != 0)) return {};
    if (i % rank >= 2) spatial.push_back(amount);
  }
  return spatial;
}

}  // namespace

bool fold_padding(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const NodeView conv(graph, id);
    if (conv.op() != "Conv" || conv.attr_text("auto_pad", "NOTSET") != "NOTSET") continue;
    const NodeId producer = sole_producer(graph, conv.input(0));
    if (!producer.valid()) continue;
    const std::vector<int64_t> extra = spatial_zeros({graph, producer});
    if (extra.empty()) continue;
    std::vector<int64_t> pads = conv.attr_ints("pads", std::vector<int64_t>(extra.size(), 0));
    std::transform(pads.begin(), pads.end(), extra.begin(), pads.begin(), std::plus<>());
    graph.mutable_node(id).attributes["pads"] = std::move(pads);
    const ValueId source = graph.node(producer).inputs[0];
    bypass(graph, producer, source);
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
