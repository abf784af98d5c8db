// GatherElements and ScatterElements: one element for each index, whose place along `axis` the
// index tells.
#include <cstring>

#include "base/error.h"
#include "ops/gradient.h"
#include "ops/layout/indexing.h"
#include "ops/op_def.h"
#include "tensor/walk.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kGatherElementsAttributes[] = {{"axis", AttrKind::kInt}};
constexpr AttrSpec kScatterElementsAttributes[] = {{"axis", AttrKind::kInt},
                                                   {"reduction", AttrKind::kText}};

int64_t axis_of_gather_elements(const NodeView& node) {
  const int64_t axis =
      normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), node.op());
  TY_REQUIRE(node.input_shape(1).rank() == node.input_shape(0).rank(),
             "indices of shape {} for data of shape {}: the ranks differ",
             node.input_shape(1).to_string(), node.input_shape(0).to_string());
  require_indices(node.input_type(1));
  return axis;
}

// Calls f(place in the data, place in the indices) for every index.
template <typename F>
void for_each_index(const TensorView& data, const TensorView& indices, int64_t axis, F&& f) {
  std::vector<int64_t> strides = data.shape->strides();
  const int64_t step = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  const int64_t size = (*data.shape)[axis];
  walk(*indices.shape, std::array{strides, indices.shape->strides()}, [&](const Offsets<2>& at) {
    const int64_t index = checked_index(element_as_int(indices, at[1]), size);
    f(at[0] + index * step, at[1]);
  });
}

// The walk follows the indices, so along the other axes they must not be longer than the data.
void require_inside(const NodeView& node, int64_t axis) {
  const Shape& data = node.input_shape(0);
  const Shape& indices = node.input_shape(1);
  for (int64_t d = 0; d < data.rank(); ++d) {
    TY_REQUIRE(d == axis || data[d] == Shape::kUnknown || indices[d] <= data[d],
               "indices of shape {} reach outside data of shape {}", indices.to_string(),
               data.to_string());
  }
}

std::vector<TensorType> infer_gather_elements(const NodeView& node) {
  require_inside(node, axis_of_gather_elements(node));
  return {{node.input_type(0).dtype, node.input_shape(1)}};
}

Routine routine_gather_elements(const NodeView& node) {
  return [axis = axis_of_gather_elements(node)](Views inputs, Views outputs) {
    const int64_t size = dtype_size(inputs[0].dtype);
    for_each_index(inputs[0], inputs[1], axis, [&](int64_t from, int64_t to) {
      std::memcpy(outputs[0].as<std::byte>() + to * size,
                  inputs[0].as<const std::byte>() + from * size, static_cast<size_t>(size));
    });
  };
}

// Only the picked elements are read.
Cost cost_gather_elements(const NodeView& node) {
  const int64_t bytes = node.output_type(0).num_bytes();
  return {.bytes_read = bytes + node.input_type(1).num_bytes(), .bytes_written = bytes};
}

std::vector<TensorType> infer_scatter_elements(const NodeView& node) {
  require_inside(node, axis_of_gather_elements(node));
  require_updates(node, node.input_shape(1));
  (void)scatter_update(node);  // refuses an unknown reduction
  return {node.input_type(0)};
}

Routine routine_scatter_elements(const NodeView& node) {
  return [axis = axis_of_gather_elements(node), update = scatter_update(node)](Views inputs,
                                                                               Views outputs) {
    copy_elements(inputs, outputs);
    for_each_index(inputs[0], inputs[1], axis, [&](int64_t to, int64_t from) {
      update(inputs[2], from, outputs[0], to, /*count=*/1);
    });
  };
}

std::vector<ValueId> gradient_gather_elements(GradContext& grad) {
  Attributes attributes = grad.attributes();
  attributes["reduction"] = std::string("add");
  return {grad.add("ScatterElements", {grad.zeros(grad.x_shape(0)), grad.x(1), grad.dy()},
                   std::move(attributes)),
          kNoValue};
}

// What was overwritten has no part in the result; what was added to has.
std::vector<ValueId> gradient_scatter_elements(GradContext& grad) {
  const std::string reduction = grad.node().attr_text("reduction", "none");
  TY_REQUIRE(reduction == "none" || reduction == "add",
             "the gradient of reduction '{}' is not implemented", reduction);
  const Attributes axis = {{"axis", grad.node().attr_int("axis", 0)}};
  std::vector<ValueId> dx(3, kNoValue);
  if (grad.wants(0)) {
    dx[0] = grad.dy();
    if (reduction == "none") {
      dx[0] =
          grad.add("ScatterElements", {grad.dy(), grad.x(1), grad.zeros(grad.x_shape(2))}, axis);
    }
  }
  if (grad.wants(2)) dx[2] = grad.add("GatherElements", {grad.dy(), grad.x(1)}, axis);
  return dx;
}

}  // namespace

// Inputs: data, indices.
extern const OpDef kGatherElements = {.name = "GatherElements",
                                      .kind = OpKind::kDataMovement,
                                      .inputs = {2, 2},
                                      .attributes = kGatherElementsAttributes,
                                      .infer = infer_gather_elements,
                                      .cost = cost_gather_elements,
                                      .routine = routine_gather_elements,
                                      .gradient = gradient_gather_elements,
                                      .movement = always_moved};
// Inputs: data, indices, updates.
extern const OpDef kScatterElements = {.name = "ScatterElements",
                                       .kind = OpKind::kDataMovement,
                                       .inputs = {3, 3},
                                       .attributes = kScatterElementsAttributes,
                                       .infer = infer_scatter_elements,
                                       .routine = routine_scatter_elements,
                                       .gradient = gradient_scatter_elements};

}  // namespace trainyard::ops
