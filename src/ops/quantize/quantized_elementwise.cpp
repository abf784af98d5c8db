// QuantizedAdd, QuantizedConcat, QuantizedTable and QuantizedAveragePool: what stands between
// quantized convolutions. The compiler makes them; no file has them. All work on u8 and compute in
// f32:
//
//   Add          clamp(round((a - a_zero) * a_ratio + (b - b_zero) * b_ratio) + y_zero, low, high)
//   Concat       of each input i, clamp(round((x - zeros[i]) * ratios[i]) + y_zero, 0, 255)
//   Table        table[x]: any function of one element
//   AveragePool  clamp(round(sum of (x - x_zero) * (ratio / count)) + y_zero, low, high)
#include "base/error.h"
#include "ops/op_def.h"
#include "ops/quantize/quantized.h"

namespace trainyard::ops {

extern const OpDef kConcat;

namespace {

constexpr AttrSpec kQuantizedAddAttributes[] = {
    {"a_ratio", AttrKind::kFloat}, {"a_zero", AttrKind::kInt}, {"b_ratio", AttrKind::kFloat},
    {"b_zero", AttrKind::kInt},    {"high", AttrKind::kInt},   {"low", AttrKind::kInt},
    {"y_zero", AttrKind::kInt}};
constexpr AttrSpec kQuantizedConcatAttributes[] = {{"axis", AttrKind::kInt, true},
                                                   {"ratios", AttrKind::kFloats, true},
                                                   {"y_zero", AttrKind::kInt},
                                                   {"zeros", AttrKind::kInts, true}};
constexpr AttrSpec kQuantizedPoolAttributes[] = {{"auto_pad", AttrKind::kText},
                                                 {"ceil_mode", AttrKind::kInt},
                                                 {"count_include_pad", AttrKind::kInt},
                                                 {"dilations", AttrKind::kInts},
                                                 {"high", AttrKind::kInt},
                                                 {"kernel_shape", AttrKind::kInts, true},
                                                 {"low", AttrKind::kInt},
                                                 {"pads", AttrKind::kInts},
                                                 {"ratio", AttrKind::kFloat, true},
                                                 {"strides", AttrKind::kInts},
                                                 {"x_zero", AttrKind::kInt},
                                                 {"y_zero", AttrKind::kInt}};

void require_bytes(const NodeView& node, size_t input) {
  TY_REQUIRE(node.input_type(input).dtype == DType::kU8, "input {} is {}, expected u8", input,
             dtype_name(node.input_type(input).dtype));
}

std::vector<TensorType> infer_quantized_add(const NodeView& node) {
  require_bytes(node, 0);
  TY_REQUIRE(node.input_type(1) == node.input_type(0),
             "the inputs are {} and {}, expected one type", node.input_type(0).to_string(),
             node.input_type(1).to_string());
  return {node.input_type(0)};
}

std::vector<TensorType> infer_quantized_concat(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) require_bytes(node, i);
  TY_REQUIRE(node.attr_ints("zeros", {}).size() == node.num_inputs() &&
                 node.attr_floats("ratios", {}).size() == node.num_inputs(),
             "expected a zero and a ratio for each of {} inputs", node.num_inputs());
  return kConcat.infer(node);
}

std::vector<TensorType> infer_quantized_table(const NodeView& node) {
  require_bytes(node, 0);
  const TensorType expected{DType::kU8, {256}};
  TY_REQUIRE(node.input_type(1) == expected, "the table is {}, expected {}",
             node.input_type(1).to_string(), expected.to_string());
  return {node.input_type(0)};
}

Window window_of_pool(const NodeView& node) {
  return resolve_window(node, node.input_shape(0), node.attr_ints("kernel_shape", {}));
}

std::vector<TensorType> infer_quantized_pool(const NodeView& node) {
  require_bytes(node, 0);
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(x.rank() >= 3, "input has shape {}, expected N x C x spatial", x.to_string());
  return {{DType::kU8, window_output_shape(x[0], x[1], window_of_pool(node))}};
}

Cost cost_quantized_add(const NodeView& node) {
  return elementwise_cost(node, 8);
}

Cost cost_quantized_concat(const NodeView& node) {
  return elementwise_cost(node, 4);
}

Cost cost_quantized_table(const NodeView& node) {
  return elementwise_cost(node, 1);
}

Cost cost_quantized_pool(const NodeView& node) {
  return elementwise_cost(node, window_of_pool(node).kernel_elements() + 4);
}

std::optional<Window> window_quantized_pool(const NodeView& node) {
  return window_of_pool(node);
}

}  // namespace

extern const OpDef kQuantizedAdd = {.name = "QuantizedAdd",
                                    .kind = OpKind::kElementwise,
                                    .inputs = {2, 2},
                                    .attributes = kQuantizedAddAttributes,
                                    .infer = infer_quantized_add,
                                    .cost = cost_quantized_add};
extern const OpDef kQuantizedConcat = {.name = "QuantizedConcat",
                                       .kind = OpKind::kDataMovement,
                                       .inputs = {1, Arity::kMany},
                                       .attributes = kQuantizedConcatAttributes,
                                       .infer = infer_quantized_concat,
                                       .cost = cost_quantized_concat};
extern const OpDef kQuantizedTable = {.name = "QuantizedTable",
                                      .kind = OpKind::kElementwise,
                                      .inputs = {2, 2},
                                      .infer = infer_quantized_table,
                                      .cost = cost_quantized_table};
extern const OpDef kQuantizedAveragePool = {.name = "QuantizedAveragePool",
                                            .kind = OpKind::kPooling,
                                            .attributes = kQuantizedPoolAttributes,
                                            .infer = infer_quantized_pool,
                                            .cost = cost_quantized_pool,
                                            .window = window_quantized_pool};

}  // namespace trainyard::ops
