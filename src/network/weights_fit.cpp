#include "network/weights_fit.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "network/weight_names.h"

namespace trainyard::network {
namespace {

ValueId find_parameter(const Graph& graph, const std::string& name) {
  for (const std::string& candidate : candidate_names(name)) {
    const ValueId id = graph.find_value(candidate);
    if (id != kNoValue && graph.value(id).kind == ValueKind::kInitializer) return id;
  }
  return kNoValue;
}

bool can_become(const TensorType& found, const TensorType& expected) {
  return found.shape == expected.shape &&
         (found.dtype == expected.dtype || (is_float(found.dtype) && is_float(expected.dtype)));
}

}  // namespace

WeightsFit fit_weights(const Graph& graph, const runs::WeightsFile& file) {
  WeightsFit fit;
  std::set<ValueId> taken;
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const runs::NamedType& tensor = file.tensors()[i];
    const ValueId id = find_parameter(graph, tensor.name);
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

Tensor fitted_tensor(const Graph& graph, const runs::WeightsFile& file,
                     const WeightsFit::Pair& pair) {
  Tensor tensor = file.tensor(pair.tensor);
  const DType wanted = graph.value(pair.parameter).type.dtype;
  return tensor.dtype() == wanted ? std::move(tensor) : cast(tensor, wanted);
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
    Shape expected = misfit.expected.shape;
    const Shape& found = misfit.found.shape;
    if (found.rank() == 0 || found.rank() != expected.rank()) return std::nullopt;
    if (classes && *classes != found[0]) return std::nullopt;
    classes = found[0];
    expected[0] = found[0];
    if (expected != found) return std::nullopt;
  }
  return classes;
}

FittedNetwork fit_network(Request request, const runs::WeightsFile& file) {
  FittedNetwork fitted = {load(request), {}};
  fitted.fit = fit_weights(fitted.graph, file);
  const auto classes = classes_of_misfits(fitted.fit);
  if (!classes || *classes == 0 || request.classes || is_path(request.model)) return fitted;
  request.classes = classes;
  FittedNetwork other = {load(request), {}};
  other.fit = fit_weights(other.graph, file);
  return other.fit.misfits.empty() ? std::move(other) : std::move(fitted);
}

}  // namespace trainyard::network
