// What a gradient rule sees and says: from dL/dy of a node's outputs to dL/dx of its inputs, as
// graph nodes.
#pragma once

#include <span>
#include <vector>

#include "ir/node_view.h"
#include "ops/builder.h"

namespace trainyard::ops {

// Rules name things as papers do: x, y for inputs and outputs, dy for what flows in. Types are
// returned by value, since a rule adds nodes and thereby moves the graph's memory.
class GradContext {
 public:
  // `output_grads` holds kNoValue where nothing flows; `wanted` says which inputs' gradients are
  // asked for.
  GradContext(Builder& builder, NodeId node, std::span<const ValueId> output_grads,
              std::vector<bool> wanted)
      : builder_(builder),
        id_(node),
        output_grads_(output_grads.begin(), output_grads.end()),
        wanted_(std::move(wanted)) {}

  Builder& builder() { return builder_; }
  NodeView node() const { return {builder_.graph(), id_}; }
  ValueId x(size_t i) const { return node().input(i); }
  ValueId y(size_t i = 0) const { return node().output(i); }
  ValueId dy(size_t i = 0) const { return output_grads_[i]; }
  bool wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }
  Shape x_shape(size_t i) const { return node().input_shape(i); }
  Attributes attributes() const { return node().node().attributes; }

  // The vocabulary of most rules.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return builder_.add(op, std::move(inputs), std::move(attributes));
  }
  // Of the element type of dy.
  ValueId scalar(double value);
  ValueId zeros(const Shape& shape) { return add("Expand", {scalar(0), ints(shape.dims())}); }
  ValueId ints(std::span<const int64_t> values) { return builder_.constant_ints("ints", values); }
  ValueId reshape(ValueId value, const Shape& shape) {
    return add("Reshape", {value, ints(shape.dims())});
  }
  // Sums `value` over the dimensions along which a tensor of shape `to` was broadcast.
  ValueId sum_to(ValueId value, const Shape& to);
  // Over `axes`, which stay with size 1.
  ValueId mean_over(ValueId value, const std::vector<int64_t>& axes) {
    return add("ReduceMean", {value}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  }

 private:
  Builder& builder_;
  NodeId id_;
  std::vector<ValueId> output_grads_;
  std::vector<bool> wanted_;
};

}  // namespace trainyard::ops
