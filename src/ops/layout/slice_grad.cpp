// SliceGrad: dy spread back over zeros of `input_shape`, at the places a Slice took it from.
// Inputs: dy, starts, ends, axes, steps; the last four as Slice's.
#include "base/error.h"
#include "ops/layout/slice.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kSliceGradAttributes[] = {{"input_shape", AttrKind::kInts, true}};

std::vector<TensorType> infer_slice_grad(const NodeView& node) {
  const Shape x(node.attr_ints("input_shape", {}));
  for (const int64_t d : x.dims()) TY_REQUIRE(d >= 0, "input_shape has a dimension of {}", d);
  const auto ranges = slice_ranges(node, x);
  TY_REQUIRE(ranges.has_value(), "the ranges are not known before the run");
  TY_REQUIRE(Shape(ranges->counts) == node.input_shape(0), "dy has shape {}, expected {}",
             node.input_shape(0).to_string(), Shape(ranges->counts).to_string());
  return {{node.input_type(0).dtype, x}};
}

}  // namespace

extern const OpDef kSliceGrad = {.name = "SliceGrad",
                                 .kind = OpKind::kDataMovement,
                                 .inputs = {3, 5},
                                 .attributes = kSliceGradAttributes,
                                 .infer = infer_slice_grad};

}  // namespace trainyard::ops
