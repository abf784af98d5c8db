#include "engine/kernels/native/int8/byte_conv_node.h"

#include <algorithm>
#include <set>

#include "ops/op_def.h"

namespace trainyard::kernels::native {

ByteConvShape byte_conv_shape(const NodeView& node) {
  const ops::Window window = *ops::op_of(node).window(node);
  const Shape& x = node.input_shape(0);
  return {.batch = x[0],
          .in_channels = x[1],
          .out_channels = node.input_shape(1)[0],
          .groups = node.attr_int("group", 1),
          .height = x[2],
          .width = x[3],
          .window_rows = window.kernel[0],
          .window_columns = window.kernel[1],
          .row_stride = window.strides[0],
          .column_stride = window.strides[1],
          .row_dilation = window.dilations[0],
          .column_dilation = window.dilations[1],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .out_height = window.output[0],
          .out_width = window.output[1]};
}

bool wants_blocks(const NodeView& node) {
  static const std::set<std::string, std::less<>> kMoves = {"Flatten", "Reshape", "Transpose"};
  const Graph& graph = node.graph();
  const std::vector<NodeId>& consumers = graph.value(node.output(0)).consumers;
  return node.output_type(0).dtype == DType::kF32 && !consumers.empty() &&
         node.output_shape(0).num_elements(2, 4) > 1 &&
         std::none_of(consumers.begin(), consumers.end(),
                      [&](NodeId id) { return kMoves.contains(NodeView(graph, id).op()); });
}

}  // namespace trainyard::kernels::native
