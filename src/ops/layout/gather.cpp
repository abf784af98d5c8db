// Gather: slices of the data along `axis`, picked by index.
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/layout/indexing.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kGatherAttributes[] = {{"axis", AttrKind::kInt}};
constexpr ParamRole kGatherRoles[] = {ParamRole::kWeight};

std::vector<TensorType> infer_gather(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const Shape& indices = node.input_shape(1);
  const int64_t axis = normalize_axis(node.attr_int("axis", 0), x.shape.rank(), "Gather");
  TY_REQUIRE(is_integer(node.input_type(1).dtype), "indices are {}, expected integers",
             dtype_name(node.input_type(1).dtype));
  std::vector<int64_t> dims(x.shape.dims().begin(), x.shape.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.shape.dims().begin() + axis + 1, x.shape.dims().end());
  return {{x.dtype, Shape(std::move(dims))}};
}

Routine routine_gather(const NodeView& node) {
  const int64_t axis =
      normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), "Gather");
  return [axis](Views inputs, Views outputs) {
    const TensorView& x = inputs[0];
    const std::vector<int64_t> indices = to_ints(inputs[1]);
    const int64_t size = (*x.shape)[axis];
    const int64_t outer = x.shape->num_elements(0, axis);
    const int64_t row = x.shape->num_elements(axis + 1, x.shape->rank()) * dtype_size(x.dtype);
    auto* to = outputs[0].as<std::byte>();
    for (int64_t i = 0; i < outer; ++i) {
      for (const int64_t index : indices) {
        const auto* from = x.as<const std::byte>() + (i * size + checked_index(index, size)) * row;
        std::memcpy(to, from, static_cast<size_t>(row));
        to += row;
      }
    }
  };
}

// Only the picked slices are read.
Cost cost_gather(const NodeView& node) {
  const int64_t bytes = node.output_type(0).num_bytes();
  return {.bytes_read = bytes + node.input_type(1).num_bytes(), .bytes_written = bytes};
}

// Slices of dy are added where they came from, with the gathered axis in front meanwhile.
std::vector<ValueId> gradient_gather(GradContext& grad) {
  const Shape x = grad.x_shape(0);
  const Shape indices = grad.x_shape(1);
  const int64_t axis = normalize_axis(grad.node().attr_int("axis", 0), x.rank(), "Gather");
  std::vector<int64_t> to_front(static_cast<size_t>(grad.node().output_shape(0).rank()));
  std::iota(to_front.begin(), to_front.end(), 0);
  std::rotate(to_front.begin(), to_front.begin() + axis, to_front.begin() + axis + indices.rank());
  std::vector<int64_t> dims = x.vector();
  std::rotate(dims.begin(), dims.begin() + axis, dims.begin() + axis + 1);
  std::vector<int64_t> back(static_cast<size_t>(x.rank()));
  std::iota(back.begin(), back.end(), 0);
  std::rotate(back.begin(), back.begin() + 1, back.begin() + axis + 1);

  std::vector<int64_t> tuples = indices.vector();
  tuples.push_back(1);
  ValueId dy = grad.dy();
  if (axis != 0) dy = grad.add("Transpose", {dy}, {{"perm", to_front}});
  const ValueId sum = grad.add(
      "ScatterND", {grad.zeros(Shape(dims)), grad.reshape(grad.x(1), Shape(std::move(tuples))), dy},
      {{"reduction", std::string("add")}});
  return {axis == 0 ? sum : grad.add("Transpose", {sum}, {{"perm", back}}), kNoValue};
}

}  // namespace

extern const OpDef kGather = {.name = "Gather",
                              .kind = OpKind::kDataMovement,
                              .inputs = {2, 2},
                              .attributes = kGatherAttributes,
                              .roles = kGatherRoles,
                              .infer = infer_gather,
                              .cost = cost_gather,
                              .routine = routine_gather,
                              .gradient = gradient_gather,
                              .movement = always_moved};

}  // namespace trainyard::ops
