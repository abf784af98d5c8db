// TensorScatter: a cache with rows replaced by new ones, from a place that each batch element
// names.
#include <cstring>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kTensorScatterAttributes[] = {{"axis", AttrKind::kInt},
                                                 {"mode", AttrKind::kText}};

std::vector<TensorType> infer_tensor_scatter(const NodeView& node) {
  const TensorType& cache = node.input_type(0);
  const TensorType& update = node.input_type(1);
  const int64_t axis =
      normalize_axis(node.attr_int("axis", -2), cache.shape.rank(), "TensorScatter");
  TY_REQUIRE(axis > 0 && cache.dtype == update.dtype && cache.shape.rank() == update.shape.rank() &&
                 (update.shape[axis] <= cache.shape[axis] ||
                  same_dim(update.shape[axis], cache.shape[axis])),
             "the cache is {}, the update {}: it does not fit along axis {}", cache.to_string(),
             update.to_string(), axis);
  for (int64_t d = 0; d < cache.shape.rank(); ++d) {
    TY_REQUIRE(d == axis || same_dim(update.shape[d], cache.shape[d]),
               "the cache is {}, the update {}: they differ along axis {} too", cache.to_string(),
               update.to_string(), d);
  }
  if (node.has_input(2)) {
    TY_REQUIRE(is_integer(node.input_type(2).dtype), "first rows are {}, expected integers",
               dtype_name(node.input_type(2).dtype));
    require_dims("first rows are", node.input_shape(2), {cache.shape[0]});
  }
  const std::string mode = node.attr_text("mode", "linear");
  TY_REQUIRE(mode == "linear" || mode == "circular", "mode '{}' is not one of linear, circular",
             mode);
  return {cache};
}

Routine routine_tensor_scatter(const NodeView& node) {
  const int64_t axis =
      normalize_axis(node.attr_int("axis", -2), node.input_shape(0).rank(), "TensorScatter");
  return [axis, circular = node.attr_text("mode", "linear") == "circular"](Views x, Views y) {
    copy_elements(x, y);
    const Shape& cache = *x[0].shape;
    const Shape& update = *x[1].shape;
    const int64_t rows = update[axis];
    const int64_t outer = cache.num_elements(0, axis);
    const int64_t bytes = cache.num_elements(axis + 1, cache.rank()) * dtype_size(x[0].dtype);
    for (int64_t i = 0; i < outer; ++i) {
      const int64_t b = i / (outer / cache[0]);
      const int64_t first = x.size() > 2 && x[2].data != nullptr ? element_as_int(x[2], b) : 0;
      TY_REQUIRE(rows == 0 || (0 <= first && first < cache[axis]),
                 "row {} is outside the cache of {} rows", first, cache[axis]);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t to = circular ? (first + row) % cache[axis] : first + row;
        TY_REQUIRE(to < cache[axis], "row {} is outside the cache of {} rows", to, cache[axis]);
        std::memcpy(y[0].as<std::byte>() + (i * cache[axis] + to) * bytes,
                    x[1].as<const std::byte>() + (i * rows + row) * bytes,
                    static_cast<size_t>(bytes));
      }
    }
  };
}

}  // namespace

// Inputs: cache, update, first rows (one for each element of dimension 0; 0 if absent).
extern const OpDef kTensorScatter = {.name = "TensorScatter",
                                     .kind = OpKind::kDataMovement,
                                     .inputs = {2, 3},
                                     .attributes = kTensorScatterAttributes,
                                     .infer = infer_tensor_scatter,
                                     .routine = routine_tensor_scatter};

}  // namespace trainyard::ops
