// GatherND and ScatterND: slices of the data picked or overwritten by tuples of indices, the last
// dimension of `indices`.
#include <cstring>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/layout/indexing.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kGatherNdAttributes[] = {{"batch_dims", AttrKind::kInt}};
constexpr AttrSpec kScatterNdAttributes[] = {{"reduction", AttrKind::kText}};

int64_t tuple_length(const NodeView& node, int64_t batch_dims) {
  const Shape& data = node.input_shape(0);
  const Shape& indices = node.input_shape(1);
  require_indices(node.input_type(1));
  TY_REQUIRE(indices.rank() >= 1 && 0 <= batch_dims && batch_dims < indices.rank() &&
                 batch_dims < data.rank(),
             "{} batch dimensions of data {} and indices {}", batch_dims, data.to_string(),
             indices.to_string());
  for (int64_t d = 0; d < batch_dims; ++d) {
    TY_REQUIRE(same_dim(data[d], indices[d]),
               "batch dimension {} of data {} and indices {} differs", d, data.to_string(),
               indices.to_string());
  }
  const int64_t length = indices.dim(-1);
  TY_REQUIRE(1 <= length && length <= data.rank() - batch_dims,
             "tuples of {} indices for data of shape {}", length, data.to_string());
  return length;
}

// {leading dimensions of the indices, dimensions of the data after those indexed}
Shape picked_shape(const NodeView& node, int64_t batch_dims) {
  const Shape& data = node.input_shape(0);
  const Shape& indices = node.input_shape(1);
  const int64_t indexed = batch_dims + tuple_length(node, batch_dims);  // refuses scalars
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), data.dims().begin() + indexed, data.dims().end());
  return Shape(std::move(dims));
}

// Calls f(first element of the slice in the data, number of the tuple, elements of a slice).
template <typename F>
void for_each_tuple(const TensorView& data, const TensorView& indices, int64_t batch_dims, F&& f) {
  const int64_t length = indices.shape->dim(-1);
  const int64_t tuples = indices.shape->num_elements(0, indices.shape->rank() - 1);
  const int64_t batches = data.shape->num_elements(0, batch_dims);
  const int64_t slice = data.shape->num_elements(batch_dims + length, data.shape->rank());
  const int64_t batch = data.shape->num_elements(batch_dims, data.shape->rank());
  const std::vector<int64_t> strides = data.shape->strides();
  for (int64_t i = 0; i < tuples; ++i) {
    int64_t at = i / (tuples / batches) * batch;
    for (int64_t j = 0; j < length; ++j) {
      const int64_t axis = batch_dims + j;
      at += checked_index(element_as_int(indices, i * length + j), (*data.shape)[axis]) *
            strides[static_cast<size_t>(axis)];
    }
    f(at, i, slice);
  }
}

std::vector<TensorType> infer_gather_nd(const NodeView& node) {
  const int64_t batch_dims = node.attr_int("batch_dims", 0);
  return {{node.input_type(0).dtype, picked_shape(node, batch_dims)}};
}

Routine routine_gather_nd(const NodeView& node) {
  return [batch_dims = node.attr_int("batch_dims", 0)](Views inputs, Views outputs) {
    const int64_t size = dtype_size(inputs[0].dtype);
    for_each_tuple(inputs[0], inputs[1], batch_dims, [&](int64_t at, int64_t i, int64_t slice) {
      std::memcpy(outputs[0].as<std::byte>() + i * slice * size,
                  inputs[0].as<const std::byte>() + at * size, static_cast<size_t>(slice * size));
    });
  };
}

// Only the picked slices are read.
Cost cost_gather_nd(const NodeView& node) {
  const int64_t bytes = node.output_type(0).num_bytes();
  return {.bytes_read = bytes + node.input_type(1).num_bytes(), .bytes_written = bytes};
}

std::vector<TensorType> infer_scatter_nd(const NodeView& node) {
  require_updates(node, picked_shape(node, /*batch_dims=*/0));
  (void)scatter_update(node);  // refuses an unknown reduction
  return {node.input_type(0)};
}

Routine routine_scatter_nd(const NodeView& node) {
  return [update = scatter_update(node)](Views inputs, Views outputs) {
    copy_elements(inputs, outputs);
    for_each_tuple(inputs[0], inputs[1], /*batch_dims=*/0,
                   [&](int64_t at, int64_t i, int64_t slice) {
                     update(inputs[2], i * slice, outputs[0], at, slice);
                   });
  };
}

std::vector<ValueId> gradient_gather_nd(GradContext& grad) {
  TY_REQUIRE(grad.node().attr_int("batch_dims", 0) == 0,
             "the gradient with batch_dims is not implemented");
  return {grad.add("ScatterND", {grad.zeros(grad.x_shape(0)), grad.x(1), grad.dy()},
                   {{"reduction", std::string("add")}}),
          kNoValue};
}

// What was overwritten has no part in the result; what was added to has.
std::vector<ValueId> gradient_scatter_nd(GradContext& grad) {
  const std::string reduction = grad.node().attr_text("reduction", "none");
  TY_REQUIRE(reduction == "none" || reduction == "add",
             "the gradient of reduction '{}' is not implemented", reduction);
  std::vector<ValueId> dx(3, kNoValue);
  if (grad.wants(0)) {
    dx[0] = grad.dy();
    if (reduction == "none") {
      dx[0] = grad.add("ScatterND", {grad.dy(), grad.x(1), grad.zeros(grad.x_shape(2))});
    }
  }
  if (grad.wants(2)) dx[2] = grad.add("GatherND", {grad.dy(), grad.x(1)});
  return dx;
}

}  // namespace

// Inputs: data, indices.
extern const OpDef kGatherND = {.name = "GatherND",
                                .kind = OpKind::kDataMovement,
                                .inputs = {2, 2},
                                .attributes = kGatherNdAttributes,
                                .infer = infer_gather_nd,
                                .cost = cost_gather_nd,
                                .routine = routine_gather_nd,
                                .gradient = gradient_gather_nd,
                                .movement = always_moved};
// Inputs: data, indices, updates.
extern const OpDef kScatterND = {.name = "ScatterND",
                                 .kind = OpKind::kDataMovement,
                                 .inputs = {3, 3},
                                 .attributes = kScatterNdAttributes,
                                 .infer = infer_scatter_nd,
                                 .routine = routine_scatter_nd,
                                 .gradient = gradient_scatter_nd};

}  // namespace trainyard::ops
