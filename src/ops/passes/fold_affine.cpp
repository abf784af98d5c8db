// fold_affine: y = x * scale[c] + shift[c] (batch normalization with known statistics, products
// and sums with one number per channel) goes into the weights of the convolution or matrix product
// before it, or becomes one ScaleShift. fold_into_weights: only the former.
#include <cmath>
#include <optional>

#include "ops/passes/edit.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {
namespace {

struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<Affine> batch_norm(const NodeView& node) {
  if (node.attr_int("training_mode", 0) != 0 || node.has_output(1)) return std::nullopt;
  for (size_t i = 1; i < 5; ++i) {
    if (node.input_constant(i) == nullptr) return std::nullopt;
  }
  const int64_t channels = node.input_shape(0)[1];
  const double epsilon = node.attr_float("epsilon", 1e-5F);
  Affine affine;
  for (int64_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i) { return element_as_double(*node.input_constant(i), c); };
    const double scale = at(1) / std::sqrt(at(4) + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(at(2) - at(3) * scale);
  }
  return affine;
}

// One number per channel of `like` (or one for all); empty if the constant is anything else.
std::vector<double> per_channel(const Tensor& constant, const Shape& like) {
  if (constant.num_elements() == 1 && constant.shape().rank() <= like.rank()) {
    return std::vector<double>(static_cast<size_t>(like[1]), element_as_double(constant, 0));
  }
  const int64_t channel_axis = constant.shape().rank() - like.rank() + 1;
  if (channel_axis < 0 || constant.shape().rank() > like.rank() ||
      constant.shape()[channel_axis] != like[1] || constant.num_elements() != like[1]) {
    return {};
  }
  std::vector<double> values;
  for (int64_t c = 0; c < like[1]; ++c) values.push_back(element_as_double(constant, c));
  return values;
}

std::optional<Affine> product_or_sum(const NodeView& node, size_t variable) {
  const Tensor* constant = node.input_constant(1 - variable);
  if (constant == nullptr || node.input_constant(variable) != nullptr) return std::nullopt;
  const Shape& shape = node.input_shape(variable);
  if (shape.rank() < 2 || node.output_shape(0) != shape) return std::nullopt;
  const std::vector<double> values = per_channel(*constant, shape);
  if (values.empty()) return std::nullopt;
  if (node.op() == "Mul") return Affine{values, std::vector<double>(values.size(), 0.0)};
  return Affine{std::vector<double>(values.size(), 1.0), values};
}

struct Match {
  ValueId x;
  Affine affine;
};

std::optional<Match> match(const NodeView& node) {
  if (!node.has_output(0) || node.output_type(0).dtype != DType::kF32) return std::nullopt;
  if (node.op() == "BatchNormalization") {
    if (auto affine = batch_norm(node)) return Match{node.input(0), std::move(*affine)};
  } else if (node.op() == "Mul" || node.op() == "Add") {
    for (size_t variable = 0; variable < 2; ++variable) {
      if (auto affine = product_or_sum(node, variable)) {
        return Match{node.input(variable), std::move(*affine)};
      }
    }
  }
  return std::nullopt;
}

Tensor floats(std::span<const double> values) {
  Tensor tensor(DType::kF32, Shape{static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.values<float>()[i] = static_cast<float>(values[i]);
  }
  return tensor;
}

// scale * old + shift; `old` may be null (zero).
Tensor moved(const Tensor* old, const Affine& affine) {
  std::vector<double> values = affine.shift;
  for (size_t c = 0; c < values.size(); ++c) {
    if (old != nullptr) {
      values[c] += affine.scale[c] * element_as_double(*old, static_cast<int64_t>(c));
    }
  }
  return floats(values);
}

void set_constant(Graph& graph, NodeId node, size_t position, std::string_view name, Tensor data) {
  const std::vector<ValueId>& inputs = graph.node(node).inputs;
  const ValueId old = position < inputs.size() ? inputs[position] : kNoValue;
  set_input(graph, node, position, kNoValue);
  if (old.valid()) drop_if_unused(graph, old);  // first, so that its name is free
  set_input(graph, node, position, add_constant(graph, name, std::move(data)));
}

// Outputs of the weights lie along `axis` of a matrix or filter bank.
Tensor scaled_weights(const Tensor& weights, int64_t axis, const Affine& affine) {
  Tensor scaled = weights.clone();
  const int64_t inner = weights.shape().num_elements(axis + 1, weights.shape().rank());
  const int64_t channels = weights.shape()[axis];
  std::span<float> values = scaled.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto c = static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
    values[i] = static_cast<float>(values[i] * affine.scale[c]);
  }
  return scaled;
}

// A bias of a Gemm may be of any shape that broadcasts; only one number per column is folded.
bool has_plain_bias(const NodeView& node, int64_t channels) {
  if (!node.has_input(2)) return true;
  const Tensor* bias = node.input_constant(2);
  // As many may also be one for each row.
  return bias != nullptr && bias->num_elements() == channels && bias->shape().rank() > 0 &&
         bias->shape().dim(-1) == channels;
}

bool fold_into(Graph& graph, NodeId id, const Affine& affine) {
  const NodeView node(graph, id);
  const auto channels = static_cast<int64_t>(affine.scale.size());
  int64_t axis = 0;
  if (node.op() == "Gemm") {
    if (node.attr_float("alpha", 1.0F) != 1.0F || node.attr_float("beta", 1.0F) != 1.0F) {
      return false;
    }
    axis = node.attr_int("transB", 0) != 0 ? 0 : 1;
  } else if (node.op() == "ScaleShift") {
    axis = 0;
  } else if (node.op() != "Conv") {
    return false;
  }
  const Tensor* weights = node.input_constant(1);
  if (weights == nullptr || !has_plain_bias(node, channels)) return false;
  const std::string& name = node.name();
  Tensor bias = moved(node.input_constant(2), affine);
  set_constant(graph, id, 1, name + ".weights", scaled_weights(*weights, axis, affine));
  set_constant(graph, id, 2, name + ".bias", std::move(bias));
  return true;
}

}  // namespace

namespace {

// Whether it went into the weights before it.
bool fold_back(Graph& graph, NodeId id, const Match& found) {
  const NodeId producer = sole_producer(graph, found.x);
  if (!producer.valid() || !fold_into(graph, producer, found.affine)) return false;
  bypass(graph, id, found.x);
  return true;
}

}  // namespace

bool fold_into_weights(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const std::optional<Match> found = match({graph, id});
    if (found && fold_back(graph, id, *found)) changed = true;
  }
  return changed;
}

bool fold_affine(Graph& graph, const PassContext& /*context*/) {
  bool changed = false;
  for (const NodeId id : graph.node_ids()) {
    const std::optional<Match> found = match({graph, id});
    if (!found) continue;
    if (!fold_back(graph, id, *found)) {
      const std::string name = graph.node(id).name;
      for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) set_input(graph, id, i, kNoValue);
      Node& node = graph.mutable_node(id);
      node.op = "ScaleShift";
      node.attributes.clear();
      node.inputs.assign(3, kNoValue);
      set_input(graph, id, 0, found->x);
      set_constant(graph, id, 1, name + ".scale", floats(found->affine.scale));
      set_constant(graph, id, 2, name + ".shift", floats(found->affine.shift));
    }
    changed = true;
  }
  return changed;
}

}  // namespace trainyard::passes
