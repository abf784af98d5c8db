// MaxUnpool: puts each element where MaxPool found it, zeros elsewhere. The indices count in the
// smallest tensor that pools to the input's shape; output_shape may ask for a larger one.
#include "ops/nn/max_unpool.h"

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kMaxUnpoolAttributes[] = {{"kernel_shape", AttrKind::kInts, true},
                                             {"pads", AttrKind::kInts},
                                             {"strides", AttrKind::kInts}};
constexpr size_t kOutputShape = 2;

std::vector<TensorType> infer_max_unpool(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const Shape smallest = unpooled_shape(node);
  TY_REQUIRE(node.input_shape(1) == x.shape, "indices have shape {} but the input has {}",
             node.input_shape(1).to_string(), x.shape.to_string());
  TY_REQUIRE(node.input_type(1).dtype == DType::kI64, "indices are {}, expected i64",
             dtype_name(node.input_type(1).dtype));
  if (!node.has_input(kOutputShape)) return {{x.dtype, smallest}};
  const auto wanted = node.input_ints(kOutputShape);
  if (!wanted) {
    const std::vector<int64_t> unknown(static_cast<size_t>(x.shape.rank()), Shape::kUnknown);
    return {{x.dtype, Shape(unknown)}};
  }
  require_unpooled(smallest, Shape(*wanted));
  return {{x.dtype, Shape(*wanted)}};
}

}  // namespace

Shape unpooled_shape(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(x.rank() >= 3, "input has shape {}, expected N x C x spatial", x.to_string());
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape", {});
  const size_t rank = static_cast<size_t>(x.rank()) - 2;
  const std::vector<int64_t> strides = node.attr_ints("strides", std::vector<int64_t>(rank, 1));
  const std::vector<int64_t> pads = node.attr_ints("pads", std::vector<int64_t>(2 * rank, 0));
  TY_REQUIRE(kernel.size() == rank && strides.size() == rank && pads.size() == 2 * rank,
             "kernel_shape, strides and pads have {}, {} and {} entries; input of shape {} takes "
             "{}, {} and {}",
             kernel.size(), strides.size(), pads.size(), x.to_string(), rank, rank, 2 * rank);
  constexpr int64_t kLargest = int64_t{1} << 31U;  // so that nothing below overflows
  for (const auto* list : {&kernel, &strides, &pads}) {
    for (const int64_t number : *list) {
      TY_REQUIRE(0 <= number && number < kLargest, "kernel_shape, strides or pads hold {}", number);
    }
  }
  Shape y = x;
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    if (x[axis] == Shape::kUnknown) continue;
    TY_REQUIRE(x[axis] < kLargest, "input has shape {}", x.to_string());
    y[axis] = (x[axis] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i];
    TY_REQUIRE(y[axis] >= 1, "output dimension {} would have size {}", axis, y[axis]);
  }
  return y;
}

void require_unpooled(const Shape& smallest, const Shape& wanted) {
  bool fits = wanted.rank() == smallest.rank();
  for (int64_t i = 0; fits && i < wanted.rank(); ++i) fits = wanted[i] >= smallest[i];
  TY_REQUIRE(fits, "output_shape {} is smaller than the {} the elements come from",
             wanted.to_string(), smallest.to_string());
}

extern const OpDef kMaxUnpool = {.name = "MaxUnpool",
                                 .kind = OpKind::kPooling,
                                 .inputs = {2, 3},
                                 .attributes = kMaxUnpoolAttributes,
                                 .infer = infer_max_unpool};

}  // namespace trainyard::ops
