// Shape: the dimensions [start, end) of the input, as integers. Size: their product.
#include <algorithm>

#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kShapeAttributes[] = {{"end", AttrKind::kInt}, {"start", AttrKind::kInt}};

std::vector<int64_t> selected(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const int64_t rank = x.rank();
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(node.attr_int("start", 0));
  const int64_t end = std::max(start, clamp(node.attr_int("end", rank)));
  return {x.dims().begin() + start, x.dims().begin() + end};
}

std::vector<TensorType> infer_shape(const NodeView& node) {
  return {{DType::kI64, Shape{static_cast<int64_t>(selected(node).size())}}};
}

std::vector<Tensor> evaluate(const NodeView& node) {
  const std::vector<int64_t> dims = selected(node);
  std::vector<Tensor> outputs;
  if (Shape(dims).is_static()) outputs.push_back(Tensor::of_ints(dims));
  return outputs;
}

Routine routine_shape(const NodeView& node) {
  return [dims = selected(node)](Views, Views outputs) {
    std::copy(dims.begin(), dims.end(), outputs[0].as<int64_t>());
  };
}

std::vector<TensorType> infer_size(const NodeView&) {
  return {{DType::kI64, Shape{}}};
}

std::vector<Tensor> evaluate_size(const NodeView& node) {
  std::vector<Tensor> outputs;
  const int64_t count = node.input_shape(0).num_elements();
  if (count != Shape::kUnknown) outputs.push_back(Tensor::scalar(count));
  return outputs;
}

Routine routine_size(const NodeView&) {
  return [](Views inputs, Views outputs) { *outputs[0].as<int64_t>() = inputs[0].num_elements(); };
}

// The input's data is not read.
Cost cost_shape(const NodeView&) {
  return {};
}

}  // namespace

extern const OpDef kShape = {.name = "Shape",
                             .kind = OpKind::kDataMovement,
                             .attributes = kShapeAttributes,
                             .infer = infer_shape,
                             .cost = cost_shape,
                             .evaluate = evaluate,
                             .routine = routine_shape,
                             .no_gradient = NoGradient::kNever};
extern const OpDef kSize = {.name = "Size",
                            .kind = OpKind::kDataMovement,
                            .infer = infer_size,
                            .cost = cost_shape,
                            .evaluate = evaluate_size,
                            .routine = routine_size,
                            .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
