// BitCast: the same bits as elements of another type of the same size.
#include "base/error.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kBitCastAttributes[] = {{"to", AttrKind::kInt, true}};

std::vector<TensorType> infer_bit_cast(const NodeView& node) {
  const DType from = node.input_type(0).dtype;
  const DType to = dtype_from_code(node.attr_int("to", 0));
  TY_REQUIRE(dtype_size(from) == dtype_size(to) && narrow_bits(from) % 8 == narrow_bits(to) % 8,
             "the bits of {} are no {}: the types have other sizes", dtype_name(from),
             dtype_name(to));
  return {{to, node.input_shape(0)}};
}

Routine routine_bit_cast(const NodeView&) {
  return copy_elements;
}

}  // namespace

extern const OpDef kBitCast = {.name = "BitCast",
                               .kind = OpKind::kDataMovement,
                               .attributes = kBitCastAttributes,
                               .infer = infer_bit_cast,
                               .routine = routine_bit_cast,
                               .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
