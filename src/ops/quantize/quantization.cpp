#include "ops/quantize/quantization.h"

#include "base/error.h"

namespace trainyard::ops {
namespace {

void require_count_quantization(const NodeView& node, size_t position, int64_t count,
                                std::string_view what) {
  const Shape& shape = node.input_shape(position);
  const int64_t found = shape.num_elements();
  TY_REQUIRE(found == 1 || found == count || found == Shape::kUnknown || count == Shape::kUnknown,
             "input {}, a {}, has shape {}, expected one number{}", position, what,
             shape.to_string(), count == 1 ? "" : fmt::format(" or {} of them", count));
}

}  // namespace

void require_eight_bits(const NodeView& node, std::initializer_list<size_t> positions) {
  for (const size_t i : positions) {
    const DType dtype = node.input_type(i).dtype;
    TY_REQUIRE(dtype == DType::kU8 || dtype == DType::kI8, "input {} is {}, expected u8 or i8", i,
               dtype_name(dtype));
  }
}

void require_scale(const NodeView& node, size_t position, int64_t count) {
  const DType dtype = node.input_type(position).dtype;
  TY_REQUIRE(is_float(dtype), "input {}, a scale, is {}, expected f32", position,
             dtype_name(dtype));
  require_count_quantization(node, position, count, "scale");
}

void require_zero_point(const NodeView& node, size_t position, size_t operand, int64_t count) {
  if (!node.has_input(position)) return;
  const DType dtype = node.input_type(position).dtype;
  const DType expected = node.input_type(operand).dtype;
  TY_REQUIRE(dtype == expected, "input {}, a zero point, is {}, expected {}", position,
             dtype_name(dtype), dtype_name(expected));
  require_count_quantization(node, position, count, "zero point");
}

void require_scaling(const NodeView& node, int64_t channels) {
  require_scale(node, kScalingFactor, channels);
  if (!node.has_input(kScalingBias)) return;
  const TensorType& bias = node.input_type(kScalingBias);
  TY_REQUIRE(bias.dtype == DType::kF32 && bias.shape.num_elements() == channels,
             "the bias is {}, expected {} numbers of f32", bias.to_string(), channels);
}

}  // namespace trainyard::ops
