#include "cluster/predict/paleo/from_graph.h"

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::predict::paleo {
namespace {

int64_t per_image(const Shape& shape) {
  return shape.num_elements(1, shape.rank());
}

bool is_graph_input(const NodeView& node) {
  return node.input_value(0).kind == ValueKind::kInput;
}

// One over a line is one over a picture of height 1: the same operations on the same numbers.
Layer line_layer(const NodeView& node, const ops::Window& window) {
  const Shape& x = node.input_shape(0);
  const Shape& w = node.input_shape(1);
  Layer layer{.name = node.name(), .kind = LayerKind::kConv, .fed_by_data = is_graph_input(node)};
  layer.conv = {.h = 1,
                .w = x[2],
                .cin = x[1],
                .kh = 1,
                .kw = w[2],
                .cout = w[0],
                .sh = 1,
                .sw = window.strides[0],
                .padding = Padding::kExplicit,
                .ph = 0,
                .pw = (window.pads_begin[0] + window.pads_end[0]) / 2,
                .groups = node.attr_int("group", 1)};
  return layer;
}

Layer conv_layer(const NodeView& node, const ops::Window& window) {
  if (window.rank() == 1) return line_layer(node, window);
  TY_REQUIRE(window.rank() == 2,
             "node '{}': PALEO models 1-D and 2-D convolutions, this one is {}-D", node.name(),
             window.rank());
  const Shape& x = node.input_shape(0);
  const Shape& w = node.input_shape(1);
  Layer layer{.name = node.name(), .kind = LayerKind::kConv, .fed_by_data = is_graph_input(node)};
  const int64_t ph = (window.pads_begin[0] + window.pads_end[0]) / 2;
  const int64_t pw = (window.pads_begin[1] + window.pads_end[1]) / 2;
  layer.conv = {.h = x[2],
                .w = x[3],
                .cin = x[1],
                .kh = w[2],
                .kw = w[3],
                .cout = w[0],
                .sh = window.strides[0],
                .sw = window.strides[1],
                .padding = Padding::kExplicit,
                .ph = ph,
                .pw = pw,
                .groups = node.attr_int("group", 1)};
  return layer;
}

Layer pool_layer(const NodeView& node, const ops::Window& window) {
  Layer layer{.name = node.name(), .kind = LayerKind::kPool};
  layer.conv.kh = window.kernel_elements();
  layer.in_elements = per_image(node.input_shape(0));
  layer.out_elements = per_image(node.output_shape(0));
  return layer;
}

// A matrix product with a weight; products of two activations are not PALEO's.
bool is_linear(const NodeView& node) {
  return (node.op() == "Gemm" || node.op() == "MatMul") &&
         node.input_value(1).kind == ValueKind::kInitializer && node.input_shape(1).rank() == 2;
}

Layer linear_layer(const NodeView& node) {
  const Shape& b = node.input_shape(1);
  const bool transposed = node.op() == "Gemm" && node.attr_int("transB", 0) != 0;
  Layer layer{.name = node.name(), .kind = LayerKind::kLinear};
  layer.conv = {.cin = transposed ? b[1] : b[0], .cout = transposed ? b[0] : b[1]};
  return layer;
}

}  // namespace

Net net_from_graph(const Graph& graph) {
  Net net{graph.name(), {}};
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    const ops::OpDef& op = ops::op_of(node);
    const auto window = op.window != nullptr ? op.window(node) : std::nullopt;
    if (op.kind == ops::OpKind::kConvolution && window) {
      net.layers.push_back(conv_layer(node, *window));
    } else if (op.kind == ops::OpKind::kPooling && window) {
      net.layers.push_back(pool_layer(node, *window));
    } else if (is_linear(node)) {
      net.layers.push_back(linear_layer(node));
    } else if (node.op() == "Dropout") {
      net.layers.push_back({.name = node.name(),
                            .kind = LayerKind::kDropout,
                            .in_elements = per_image(node.input_shape(0)),
                            .out_elements = per_image(node.input_shape(0))});
    }
  }
  return net;
}

}  // namespace trainyard::predict::paleo
