// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: between reals and eight-bit steps.
#include "base/error.h"
#include "ops/op_def.h"
#include "ops/quantize/quantization.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kQuantizeAttributes[] = {{"axis", AttrKind::kInt}};

// One scale for the tensor, or a vector with one for each position along `axis`.
void require_scale_along_axis(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& scale = node.input_shape(1);
  TY_REQUIRE(is_float(node.input_type(1).dtype), "the scale is {}, expected f32",
             dtype_name(node.input_type(1).dtype));
  if (scale.num_elements() != 1) {
    const int64_t axis = normalize_axis(node.attr_int("axis", 1), x.rank(), node.op());
    TY_REQUIRE(scale.rank() == 1 && scale[0] == x[axis],
               "the scale has shape {}, expected one number or {} of them (axis {} of {})",
               scale.to_string(), x[axis], axis, x.to_string());
  }
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_shape(2).num_elements() == scale.num_elements(),
               "the zero point has shape {} but the scale has {}", node.input_shape(2).to_string(),
               scale.to_string());
  }
}

std::vector<TensorType> infer_quantize(const NodeView& node) {
  require_scale_along_axis(node);
  const DType x = node.input_type(0).dtype;
  TY_REQUIRE(is_float(x) || x == DType::kI32, "the input is {}, expected f32 or i32",
             dtype_name(x));
  if (node.has_input(2)) require_eight_bits(node, {2});
  return {{node.has_input(2) ? node.input_type(2).dtype : DType::kU8, node.input_shape(0)}};
}

std::vector<TensorType> infer_dequantize(const NodeView& node) {
  require_scale_along_axis(node);
  const DType x = node.input_type(0).dtype;
  TY_REQUIRE(x == DType::kU8 || x == DType::kI8 || x == DType::kI32,
             "the input is {}, expected u8, i8 or i32", dtype_name(x));
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_type(2).dtype == x, "the zero point is {} but the input is {}",
               dtype_name(node.input_type(2).dtype), dtype_name(x));
  }
  return {{node.input_type(1).dtype, node.input_shape(0)}};
}

std::vector<TensorType> infer_dynamic(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(is_float(x.dtype), "the input is {}, expected f32", dtype_name(x.dtype));
  return {{DType::kU8, x.shape}, {x.dtype, {}}, {DType::kU8, {}}};
}

// Divide, round, shift and clamp from both sides.
Cost cost_quantize(const NodeView& node) {
  return elementwise_cost(node, 5);
}

// Subtract and multiply.
Cost cost_dequantize(const NodeView& node) {
  return elementwise_cost(node, 2);
}

// As QuantizeLinear, after a comparison each for the smallest and the largest element.
Cost cost_dynamic(const NodeView& node) {
  return elementwise_cost(node, 7);
}

}  // namespace

extern const OpDef kQuantizeLinear = {.name = "QuantizeLinear",
                                      .kind = OpKind::kQuantization,
                                      .inputs = {2, 3},
                                      .attributes = kQuantizeAttributes,
                                      .infer = infer_quantize,
                                      .cost = cost_quantize};
extern const OpDef kDequantizeLinear = {.name = "DequantizeLinear",
                                        .kind = OpKind::kQuantization,
                                        .inputs = {2, 3},
                                        .attributes = kQuantizeAttributes,
                                        .infer = infer_dequantize,
                                        .cost = cost_dequantize};
extern const OpDef kDynamicQuantizeLinear = {.name = "DynamicQuantizeLinear",
                                             .kind = OpKind::kQuantization,
                                             .outputs = {3, 3},
                                             .infer = infer_dynamic,
                                             .cost = cost_dynamic};

}  // namespace trainyard::ops
