#include "analysis/layers.h"

#include <algorithm>

#include "analysis/parameters.h"
#include "analysis/storage.h"
#include "base/checked.h"

namespace trainyard::analysis {
namespace {

// Unknown sizes count as nothing; the layers they belong to are listed as not counted.
void add_value(const Value& value, Figures& figures) {
  if (!value.type.shape.is_static()) return;
  checked_add(figures.activations, value.type.shape.num_elements());
  checked_add(figures.activation_bytes, value.type.num_bytes());
}

void add(const Figures& part, Figures& sum) {
  checked_add(sum.activations, part.activations);
  checked_add(sum.activation_bytes, part.activation_bytes);
  checked_add(sum.params.weights, part.params.weights);
  checked_add(sum.params.biases, part.params.biases);
  checked_add(sum.params.statistics, part.params.statistics);
  checked_add(sum.cost.macs, part.cost.macs);
  checked_add(sum.cost.flops, part.cost.flops);
  checked_add(sum.cost.bytes_read, part.cost.bytes_read);
  checked_add(sum.cost.bytes_written, part.cost.bytes_written);
}

void add_parameter(const Graph& graph, const Parameter& parameter, ParamCounts& counts) {
  const int64_t elements = graph.value(parameter.value).type.shape.num_elements();
  switch (parameter.role) {
    case ops::ParamRole::kWeight:
      counts.weights += elements;
      break;
    case ops::ParamRole::kBias:
      counts.biases += elements;
      break;
    case ops::ParamRole::kStatistic:
      counts.statistics += elements;
      break;
    case ops::ParamRole::kNone:
      break;
  }
}

// Inputs are layers too, so that their activations count.
Layer input_layer(const Value& value) {
  Layer layer;
  layer.name = value.name;
  layer.op = "Input";
  layer.kind = "input";
  layer.output_shape = value.type.shape;
  add_value(value, layer.figures);
  return layer;
}

Layer node_layer(const NodeView& node, const ParamCounts& params) {
  Layer layer;
  layer.name = node.name();
  layer.op = node.op();
  layer.kind = ops::kind_name(ops::op_of(node).kind);
  if (node.has_output(0)) layer.output_shape = node.output_shape(0);
  for (const ValueId output : node.node().outputs) {
    if (output.valid()) add_value(node.graph().value(output), layer.figures);
  }
  layer.figures.params = params;
  layer.figures.cost = ops::node_cost(node);
  layer.kernel = node.attr_ints("kernel_shape", {});
  layer.strides = node.attr_ints("strides", {});
  layer.pads = node.attr_ints("pads", {});
  return layer;
}

bool has_unknown_shape(const NodeView& node) {
  for (const auto* list : {&node.node().inputs, &node.node().outputs}) {
    for (const ValueId id : *list) {
      if (id.valid() && !node.graph().value(id).type.shape.is_static()) return true;
    }
  }
  return false;
}

// By operator and by why: no arithmetic, or a size that only the data decides.
void note_not_counted(const NodeView& node, std::vector<NotCounted>& list) {
  const bool unknown = has_unknown_shape(node);
  const auto found = std::find_if(list.begin(), list.end(), [&](const NotCounted& entry) {
    return entry.op == node.op() && entry.unknown_shape == unknown;
  });
  if (found == list.end()) {
    list.push_back({node.op(), 1, unknown});
  } else {
    ++found->nodes;
  }
}

void sum_up(LayerTable& table) {
  for (const Layer& layer : table.layers) {
    add(layer.figures, table.totals);
    // A layer in place writes over its input, which is stored already.
    if (!layer.in_place) table.stored_activations += layer.figures.activations;
    auto kind = std::find_if(table.kinds.begin(), table.kinds.end(),
                             [&](const KindTotal& total) { return total.kind == layer.kind; });
    if (kind == table.kinds.end()) kind = table.kinds.insert(kind, {layer.kind, 0, {}});
    ++kind->layers;
    add(layer.figures, kind->figures);
  }
  std::stable_sort(table.kinds.begin(), table.kinds.end(),
                   [](const KindTotal& a, const KindTotal& b) {
                     return a.figures.cost.flops > b.figures.cost.flops;
                   });
}

}  // namespace

double Figures::intensity() const {
  return share(cost.flops, bytes_moved());
}

LayerTable analyze_layers(const Graph& graph) {
  std::vector<ParamCounts> params(graph.node_limit());
  for (const Parameter& parameter : find_parameters(graph)) {
    add_parameter(graph, parameter, params[static_cast<size_t>(parameter.owner.index)]);
  }
  const Storage storage = plan_storage(graph, Reuse::kInPlace);

  LayerTable table;
  table.model = graph.name();
  for (const ValueId id : graph.inputs()) table.layers.push_back(input_layer(graph.value(id)));
  int64_t position = 0;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    Layer layer = node_layer(node, params[static_cast<size_t>(id.index)]);
    // Born at another node: the output lies in the buffer of what came before.
    if (node.has_output(0)) {
      const int32_t buffer = storage.buffer_of[static_cast<size_t>(node.output(0).index)];
      layer.in_place = storage.buffers[static_cast<size_t>(buffer)].born != position;
    }
    if (layer.figures.cost.macs == 0 && layer.figures.cost.flops == 0) {
      note_not_counted(node, table.not_counted);
    }
    table.layers.push_back(std::move(layer));
    ++position;
  }
  for (const ValueId id : graph.outputs()) table.outputs.push_back(graph.value(id).type.shape);
  sum_up(table);
  return table;
}

double share(int64_t part, int64_t total) {
  return total == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total);
}

}  // namespace trainyard::analysis
