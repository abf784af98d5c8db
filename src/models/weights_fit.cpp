#include "models/weights_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "models/weight_names.h"

namespace trainyard::network {
namespace {

ValueId find_parameter(const Graph& graph, const std::string& name) {
  for (const std::string& candidate : candidate_names(name)) {
    const ValueId id = graph.find_value(candidate);
    if (id != kNoValue && graph.value(id).kind == ValueKind::kInitializer) return id;
  }
  return kNoValue;
}

// A linear layer may be written as a convolution of single pixels.
Shape without_last_ones(const Shape& shape) {
  std::vector<int64_t> dims = shape.vector();
  while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  return Shape(std::move(dims));
}

bool can_become(const TensorType& found, const TensorType& expected) {
  return without_last_ones(found.shape) == without_last_ones(expected.shape) &&
         (found.dtype == expected.dtype || (is_float(found.dtype) && is_float(expected.dtype)));
}

// The normalization that reads what `node` gives, if one does.
const Node* normalization_behind(const Graph& graph, const Node& node) {
  for (const NodeId id : graph.value(node.outputs[0]).consumers) {
    if (graph.node(id).op == "BatchNormalization") return &graph.node(id);
  }
  return nullptr;
}

// Weight and bias of each layer as it runs. A normalization becomes (x - 0) / sqrt(1 + e) *
// sqrt(1 + e) + bias.
std::vector<ValueId> parameters_in_order(const Graph& graph, WeightsFit& fit,
                                         std::set<ValueId>& taken) {
  std::vector<ValueId> ordered;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.op != "Conv" && node.op != "Gemm") continue;
    ordered.push_back(node.inputs[1]);
    if (node.inputs.size() > 2 && node.inputs[2].valid()) {
      ordered.push_back(node.inputs[2]);
      continue;
    }
    const Node* norm = normalization_behind(graph, node);
    if (norm == nullptr) continue;
    ordered.push_back(norm->inputs[2]);
    const auto epsilon = std::get<float>(norm->attributes.at("epsilon"));
    fit.fixed.push_back({norm->inputs[1], std::sqrt(1 + epsilon)});
    fit.fixed.push_back({norm->inputs[3], 0});
    fit.fixed.push_back({norm->inputs[4], 1});
    for (const size_t i : {1U, 3U, 4U}) taken.insert(norm->inputs[i]);
  }
  return ordered;
}

// TensorFlow pads the far side by one more where the sides differ: windows begin elsewhere than
// ours, and the map is as large.
void pad_as_tensorflow(Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = graph.mutable_node(id);
    if (node.op != "Conv") continue;
    const Shape& input = graph.value(node.inputs[0]).type.shape;
    const auto& kernel = std::get<std::vector<int64_t>>(node.attributes.at("kernel_shape"));
    const auto& strides = std::get<std::vector<int64_t>>(node.attributes.at("strides"));
    auto& pads = std::get<std::vector<int64_t>>(node.attributes.at("pads"));
    for (size_t i = 0; i < 2; ++i) {
      const int64_t size = input[static_cast<int64_t>(i) + 2];
      const int64_t windows = (size + strides[i] - 1) / strides[i];
      const int64_t total = std::max<int64_t>(0, (windows - 1) * strides[i] + kernel[i] - size);
      pads[i] = total / 2;
      pads[i + 2] = total - total / 2;
    }
  }
}

ValueId scalar(Graph& graph, const char* name, float value) {
  return graph.add_initializer(graph.unique_name(name),
                               std::make_shared<const Tensor>(Tensor::scalar(value)));
}

// TensorFlow's MobileNets let no activation above 6, and quantized ones rely on it.
void limit_activations(Graph& graph) {
  constexpr float kMost = 6;
  ValueId least = kNoValue;
  ValueId most = kNoValue;
  for (const NodeId id : graph.node_ids()) {
    if (graph.node(id).op != "Relu") continue;
    if (!least.valid()) {
      least = scalar(graph, "relu6.min", 0);
      most = scalar(graph, "relu6.max", kMost);
    }
    const ValueId y = graph.node(id).outputs[0];
    const std::string name = graph.unique_name(graph.node(id).name + ".limited");
    const TensorType type = graph.value(y).type;
    const NodeId clip = graph.add_node(name, "Clip", {graph.node(id).inputs[0], least, most}, {},
                                       std::span(&name, 1), std::span(&type, 1));
    graph.replace_uses(y, graph.node(clip).outputs[0]);
    graph.erase_node(id);
  }
  graph.sort();
}

// Older files have no checksums, so that a flipped bit shows here or never.
void require_finite(const Tensor& tensor, const runs::WeightsFile& file, size_t index) {
  const int64_t bad = runs::count_not_finite(tensor);
  TY_REQUIRE(bad == 0,
             "{}: tensor '{}' has {} numbers that are not finite: the file is damaged, or the "
             "training that wrote it had diverged",
             file.path(), file.tensors()[index].name, bad);
}

}  // namespace

WeightsFit fit_weights(const Graph& graph, const runs::WeightsFile& file) {
  WeightsFit fit;
  std::set<ValueId> taken;
  std::vector<ValueId> ordered;
  if (file.is_ordered()) ordered = parameters_in_order(graph, fit, taken);
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const runs::NamedType& tensor = file.tensors()[i];
    ValueId id = kNoValue;
    if (!file.is_ordered()) id = find_parameter(graph, tensor.name);
    if (i < ordered.size()) id = ordered[i];
    if (id == kNoValue) {
      (is_for_training_only(tensor.name) ? fit.training : fit.surplus).push_back(tensor.name);
      continue;
    }
    TY_REQUIRE(taken.insert(id).second, "two tensors of the file are parameter '{}', one is '{}'",
               graph.value(id).name, tensor.name);
    if (can_become(tensor.type, graph.value(id).type)) {
      fit.pairs.push_back({id, i});
    } else {
      fit.misfits.push_back({graph.value(id).name, tensor.type, graph.value(id).type});
    }
  }
  for (const ValueId id : graph.initializers()) {
    // A network's own constants (shapes, limits) are no weights.
    const Value& value = graph.value(id);
    if (value.constant == nullptr && !taken.contains(id)) fit.missing.push_back(value.name);
  }
  return fit;
}

void for_each_fitted(const Graph& graph, const runs::WeightsFile& file, const WeightsFit& fit,
                     const std::function<void(const Value&, Tensor)>& action) {
  for (const WeightsFit::Pair& pair : fit.pairs) {
    const Value& value = graph.value(pair.parameter);
    Tensor tensor = file.tensor(pair.tensor);
    require_finite(tensor, file, pair.tensor);
    if (tensor.dtype() != value.type.dtype) tensor = cast(tensor, value.type.dtype);
    if (tensor.shape() != value.type.shape) tensor = tensor.reshaped(value.type.shape);
    action(value, std::move(tensor));
  }
  for (const WeightsFit::Fixed& fixed : fit.fixed) {
    const Value& value = graph.value(fixed.parameter);
    Tensor tensor(value.type);
    for (float& number : tensor.values<float>()) number = fixed.value;
    action(value, std::move(tensor));
  }
}

std::string differences_text(const WeightsFit& fit, size_t most) {
  std::vector<std::string> lines;
  for (const auto& misfit : fit.misfits) {
    lines.push_back(fmt::format("'{}' is {}, expected {}", misfit.name, misfit.found.to_string(),
                                misfit.expected.to_string()));
  }
  for (const std::string& name : fit.missing) lines.push_back(fmt::format("'{}' is missing", name));
  for (const std::string& name : fit.surplus) {
    lines.push_back(fmt::format("'{}' is no parameter", name));
  }
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), most); ++i) text += "\n  " + lines[i];
  if (lines.size() > most) text += fmt::format("\n  and {} more", lines.size() - most);
  return text;
}

std::optional<int64_t> classes_of_misfits(const WeightsFit& fit) {
  std::optional<int64_t> classes;
  for (const auto& misfit : fit.misfits) {
    Shape expected = without_last_ones(misfit.expected.shape);
    const Shape found = without_last_ones(misfit.found.shape);
    if (found.rank() == 0 || found.rank() != expected.rank()) return std::nullopt;
    if (classes && *classes != found[0]) return std::nullopt;
    classes = found[0];
    expected[0] = found[0];
    if (expected != found) return std::nullopt;
  }
  return classes;
}

FittedNetwork fit_network(Request request, const runs::WeightsFile& file) {
  const auto fit = [&file](const Request& wanted) {
    FittedNetwork fitted = {load(wanted), {}};
    if (file.is_ordered()) {
      pad_as_tensorflow(fitted.graph);
      limit_activations(fitted.graph);
    }
    fitted.fit = fit_weights(fitted.graph, file);
    return fitted;
  };
  FittedNetwork fitted = fit(request);
  const auto classes = classes_of_misfits(fitted.fit);
  if (!classes || *classes == 0 || request.classes || is_path(request.model)) return fitted;
  request.classes = classes;
  FittedNetwork other = fit(request);
  return other.fit.misfits.empty() ? std::move(other) : std::move(fitted);
}

}  // namespace trainyard::network
