// Trilu: the upper or lower triangle of each matrix, zeros elsewhere. EyeLike: ones on a diagonal.
#include <cstring>

#include "base/error.h"
#include "ops/dimensions.h"
#include "ops/gradient.h"
#include "ops/layout/dtype_code.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kTriluAttributes[] = {{"upper", AttrKind::kInt}};
constexpr AttrSpec kEyeAttributes[] = {{"dtype", AttrKind::kInt}, {"k", AttrKind::kInt}};

std::vector<TensorType> infer_trilu(const NodeView& node) {
  TY_REQUIRE(node.input_shape(0).rank() >= 2, "shape {} holds no matrices",
             node.input_shape(0).to_string());
  require_one_number(node, 1, "the diagonal");
  return {node.input_type(0)};
}

// Diagonal k counts from the main one, upwards.
Routine routine_trilu(const NodeView& node) {
  return [upper = node.attr_int("upper", 1) != 0](Views inputs, Views outputs) {
    const bool moved = inputs.size() > 1 && inputs[1].data != nullptr;
    const int64_t k = moved ? element_as_int(inputs[1], 0) : 0;
    const int64_t rows = inputs[0].shape->dim(-2);
    const int64_t columns = inputs[0].shape->dim(-1);
    const auto size = static_cast<size_t>(dtype_size(inputs[0].dtype));
    copy_elements(inputs, outputs);
    auto* to = outputs[0].as<std::byte>();
    for (int64_t i = 0; i < inputs[0].num_elements(); ++i, to += size) {
      const int64_t diagonal = i % columns - i / columns % rows;
      if (upper ? diagonal < k : diagonal > k) std::memset(to, 0, size);
    }
  };
}

// The same triangle of dy.
std::vector<ValueId> gradient_trilu(GradContext& grad) {
  std::vector<ValueId> inputs = {grad.dy()};
  if (grad.node().has_input(1)) inputs.push_back(grad.x(1));
  return {grad.add("Trilu", inputs, grad.attributes()), kNoValue};
}

std::vector<TensorType> infer_eye(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  TY_REQUIRE(x.shape.rank() == 2, "shape {} is not a matrix", x.shape.to_string());
  return {{node.has_attr("dtype") ? dtype_from_code(node.attr_int("dtype", 0)) : x.dtype, x.shape}};
}

Routine routine_eye(const NodeView& node) {
  return [k = node.attr_int("k", 0)](Views, Views outputs) {
    const int64_t columns = (*outputs[0].shape)[1];
    for_type(outputs[0].dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < outputs[0].num_elements(); ++i) {
        outputs[0].as<T>()[i] = static_cast<T>(i % columns - i / columns == k ? 1 : 0);
      }
    });
  };
}

// The input's data is not read.
Cost cost_eye(const NodeView& node) {
  return {.bytes_written = node.output_type(0).num_bytes()};
}

}  // namespace

// Inputs: x, k.
extern const OpDef kTrilu = {.name = "Trilu",
                             .kind = OpKind::kDataMovement,
                             .inputs = {1, 2},
                             .attributes = kTriluAttributes,
                             .infer = infer_trilu,
                             .routine = routine_trilu,
                             .gradient = gradient_trilu};
extern const OpDef kEyeLike = {.name = "EyeLike",
                               .kind = OpKind::kDataMovement,
                               .attributes = kEyeAttributes,
                               .infer = infer_eye,
                               .cost = cost_eye,
                               .routine = routine_eye,
                               .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
