// Compress: the slices along `axis` whose condition holds; without an axis, of all elements in a
// row.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kCompressAttributes[] = {{"axis", AttrKind::kInt}};

// The axis in the shape that is really cut, which is flat if there is none.
struct Cut {
  bool flat = false;
  int64_t axis = 0;

  Shape shape(const Shape& x) const { return flat ? Shape{x.num_elements()} : x; }
};

Cut cut_of(const NodeView& node) {
  if (!node.has_attr("axis")) return {.flat = true};
  return {.axis = normalize_axis(node.attr_int("axis", 0), node.input_shape(0).rank(), "Compress")};
}

std::vector<TensorType> infer_compress(const NodeView& node) {
  TY_REQUIRE(node.input_type(1).dtype == DType::kBool, "the condition is {}, expected bool",
             dtype_name(node.input_type(1).dtype));
  const Cut cut = cut_of(node);
  TensorType y = {node.input_type(0).dtype, cut.shape(node.input_shape(0))};
  const auto condition = node.input_ints(1);
  if (condition) {
    TY_REQUIRE(y.shape[cut.axis] == Shape::kUnknown ||
                   static_cast<int64_t>(condition->size()) <= y.shape[cut.axis],
               "{} conditions for a dimension of {}", condition->size(), y.shape[cut.axis]);
  }
  y.shape[cut.axis] =
      condition ? std::count(condition->begin(), condition->end(), 1) : Shape::kUnknown;
  return {y};
}

Routine routine_compress(const NodeView& node) {
  return [cut = cut_of(node)](Views inputs, Views outputs) {
    const Shape x = cut.shape(*inputs[0].shape);
    const int64_t length = x[cut.axis];
    const int64_t slice = x.num_elements(cut.axis + 1, x.rank()) * dtype_size(inputs[0].dtype);
    auto* to = outputs[0].as<std::byte>();
    for (int64_t i = 0; i < x.num_elements(0, cut.axis); ++i) {
      for (int64_t j = 0; j < inputs[1].num_elements(); ++j) {
        if (!inputs[1].as<const bool>()[j]) continue;
        std::memcpy(to, inputs[0].as<const std::byte>() + (i * length + j) * slice,
                    static_cast<size_t>(slice));
        to += slice;
      }
    }
  };
}

}  // namespace

// Inputs: x, condition.
extern const OpDef kCompress = {.name = "Compress",
                                .kind = OpKind::kDataMovement,
                                .inputs = {2, 2},
                                .attributes = kCompressAttributes,
                                .infer = infer_compress,
                                .routine = routine_compress,
                                .movement = always_moved};

}  // namespace trainyard::ops
