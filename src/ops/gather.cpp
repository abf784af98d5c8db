// Gather: slices of the data along `axis`, picked by index.
#include <cstring>

#include "base/error.h"
#include "ops/indexing.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAttributes[] = {{"axis", AttrKind::kInt}};
constexpr ParamRole kRoles[] = {ParamRole::kWeight};

std::vector<TensorType> infer(const NodeView& node) {
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

Routine routine(const NodeView& node) {
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
Cost cost(const NodeView& node) {
  const int64_t bytes = node.output_type(0).num_bytes();
  return {.bytes_read = bytes + node.input_type(1).num_bytes(), .bytes_written = bytes};
}

}  // namespace

extern const OpDef kGather = {.name = "Gather",
                              .kind = OpKind::kDataMovement,
                              .inputs = {2, 2},
                              .attributes = kAttributes,
                              .roles = kRoles,
                              .infer = infer,
                              .cost = cost,
                              .routine = routine};

}  // namespace trainyard::ops
