// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: between reals and steps of few
// bits.
#include "base/error.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kQuantizeAttributes[] = {{"axis", AttrKind::kInt},
                                            {"block_size", AttrKind::kInt},
                                            {"output_dtype", AttrKind::kInt},
                                            {"precision", AttrKind::kInt},
                                            {"saturate", AttrKind::kInt}};
constexpr AttrSpec kDequantizeAttributes[] = {
    {"axis", AttrKind::kInt}, {"block_size", AttrKind::kInt}, {"output_dtype", AttrKind::kInt}};

void require_blocks(const NodeView& node, int64_t block) {
  const Shape& x = node.input_shape(0);
  const Shape& scale = node.input_shape(1);
  const int64_t axis = normalize_axis(node.attr_int("axis", 1), x.rank(), node.op());
  Shape expected = x;
  if (x[axis] != Shape::kUnknown) expected[axis] = x[axis] / block + (x[axis] % block != 0);
  TY_REQUIRE(scale.rank() == x.rank() && (!x.is_static() || scale == expected),
             "the scale has shape {}, expected {} (blocks of {} along axis {} of {})",
             scale.to_string(), expected.to_string(), block, axis, x.to_string());
}

// One scale for the tensor, a vector with one for each position along `axis`, or one for each block
// of `block_size` of them.
void require_scale_along_axis(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const Shape& scale = node.input_shape(1);
  const DType type = node.input_type(1).dtype;
  TY_REQUIRE(is_float(type) || type == DType::kI32 || type == DType::kF8E8M0,
             "the scale is {}, expected f32", dtype_name(type));
  const int64_t block = node.attr_int("block_size", 0);
  TY_REQUIRE(block >= 0, "block_size is {}", block);
  if (block > 0) {
    require_blocks(node, block);
  } else if (scale.num_elements() != 1) {
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

bool holds_steps(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 ||
         dtype == DType::kI16 || (is_narrow(dtype) && dtype != DType::kF8E8M0);
}

std::vector<TensorType> infer_quantize(const NodeView& node) {
  require_scale_along_axis(node);
  const DType x = node.input_type(0).dtype;
  TY_REQUIRE(is_float(x) || x == DType::kI32, "the input is {}, expected f32 or i32",
             dtype_name(x));
  const int64_t code = node.attr_int("output_dtype", 0);
  DType y = code != 0 ? dtype_from_code(code) : DType::kU8;
  if (node.has_input(2)) {
    TY_REQUIRE(code == 0 || node.input_type(2).dtype == y,
               "output_dtype is {} but the zero point is {}", dtype_name(y),
               dtype_name(node.input_type(2).dtype));
    y = node.input_type(2).dtype;
  }
  TY_REQUIRE(holds_steps(y),
             "it cannot quantize to {}: expected integers of 16 bits or fewer, or "
             "floats of 8 or 4",
             dtype_name(y));
  return {{y, node.input_shape(0)}};
}

std::vector<TensorType> infer_dequantize(const NodeView& node) {
  require_scale_along_axis(node);
  const DType x = node.input_type(0).dtype;
  TY_REQUIRE(holds_steps(x) || x == DType::kI32,
             "the input is {}, expected integers or floats of 8 or 4 bits", dtype_name(x));
  if (node.has_input(2)) {
    TY_REQUIRE(node.input_type(2).dtype == x, "the zero point is {} but the input is {}",
               dtype_name(node.input_type(2).dtype), dtype_name(x));
  }
  const int64_t code = node.attr_int("output_dtype", 0);
  const DType y = code != 0 ? dtype_from_code(code) : node.input_type(1).dtype;
  TY_REQUIRE(is_float(y), "its result is {}, expected floats", dtype_name(y));
  return {{y, node.input_shape(0)}};
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
                                        .attributes = kDequantizeAttributes,
                                        .infer = infer_dequantize,
                                        .cost = cost_dequantize};
extern const OpDef kDynamicQuantizeLinear = {.name = "DynamicQuantizeLinear",
                                             .kind = OpKind::kQuantization,
                                             .outputs = {3, 3},
                                             .infer = infer_dynamic,
                                             .cost = cost_dynamic};

}  // namespace trainyard::ops
