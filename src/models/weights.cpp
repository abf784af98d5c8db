#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "models/network.h"
#include "models/weights_fit.h"
#include "runs/checkpoint.h"
#include "runs/safetensors.h"
#include "runs/weights/weights_file.h"

namespace trainyard::network {
namespace {

constexpr size_t kShownDifferences = 8;

// Checkpoints hold the optimizer's state beside the parameters; it is not part of a network.
bool is_parameter_name(const std::string& name) {
  return !name.starts_with(runs::kOptimizerPrefix);
}

// What the file must hold, and what is wrong with what it holds.
std::vector<std::string> differences(const Graph& graph, const runs::SafetensorsFile& file) {
  std::vector<std::string> found;
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    const runs::StoredTensor* stored = file.find(value.name);
    if (stored == nullptr) {
      // A file's own constants (shapes, scales) need not be among the weights.
      if (value.constant == nullptr) {
        found.push_back(fmt::format("'{}' {} is missing", value.name, value.type.to_string()));
      }
    } else if (stored->type != value.type) {
      found.push_back(fmt::format("'{}' is {}, expected {}", value.name, stored->type.to_string(),
                                  value.type.to_string()));
    }
  }
  for (const runs::StoredTensor& stored : file.tensors()) {
    if (!is_parameter_name(stored.name)) continue;
    const ValueId id = graph.find_value(stored.name);
    if (id == kNoValue || graph.value(id).kind != ValueKind::kInitializer) {
      found.push_back(fmt::format("'{}' {} is no parameter", stored.name, stored.type.to_string()));
    }
  }
  return found;
}

// Where the only difference is how many inputs a classifier has, the size of the pictures decides
// it.
std::string hint(const Graph& graph, const runs::SafetensorsFile& file) {
  bool found = false;
  for (const ValueId id : graph.initializers()) {
    const Shape& mine = graph.value(id).type.shape;
    const runs::StoredTensor* stored = file.find(graph.value(id).name);
    if (stored == nullptr || stored->type == graph.value(id).type) continue;
    const Shape& other = stored->type.shape;
    const bool classifier = mine.rank() == 2 && other.rank() == 2 && mine[0] == other[0];
    if (!classifier) return "";
    found = true;
  }
  if (!found) return "";
  return "\nThe classifier has an input for each place of the last feature map: `image` changes "
         "it, so "
         "use the size the weights were made for (224 for VGG and AlexNet)";
}

void take_weights(Graph& graph, const runs::WeightsFile& file, const WeightsFit& fit) {
  for_each_fitted(graph, file, fit, [&](const Value& value, Tensor tensor) {
    graph.mutable_value(graph.find_value(value.name)).constant =
        std::make_shared<const Tensor>(std::move(tensor));
  });
}

// Files of others, whose names are theirs.
void load_foreign_weights(Graph& graph, const std::string& path) {
  const auto file = runs::open_weights(path);
  const WeightsFit fit = fit_weights(graph, *file);
  TY_REQUIRE(fit.complete(), "{}: these weights do not fit {}{}", path, graph.name(),
             differences_text(fit, kShownDifferences));
  take_weights(graph, *file, fit);
}

}  // namespace

void load_weights(Graph& graph, const std::string& path) {
  if (!runs::is_safetensors(path)) return load_foreign_weights(graph, path);
  const runs::SafetensorsFile file(path);
  const std::vector<std::string> found = differences(graph, file);
  if (!found.empty()) {
    std::string list;
    for (size_t i = 0; i < std::min(found.size(), kShownDifferences); ++i)
      list += "\n  " + found[i];
    if (found.size() > kShownDifferences) {
      list += fmt::format("\n  and {} more", found.size() - kShownDifferences);
    }
    throw_error("{}: these weights do not fit {}{}{}", path, graph.name(), list, hint(graph, file));
  }
  for (const ValueId id : graph.initializers()) {
    Value& value = graph.mutable_value(id);
    if (file.find(value.name) == nullptr) continue;
    value.constant = std::make_shared<const Tensor>(file.tensor(value.name));
  }
}

std::vector<std::string> load_matching_weights(Graph& graph, const std::string& path) {
  const auto file = runs::open_weights(path);
  WeightsFit fit = fit_weights(graph, *file);
  // A detector that continues from one of other classes has new heads.
  std::erase_if(fit.misfits, [&](const WeightsFit::WeightMismatch& misfit) {
    const bool head = misfit.name.starts_with("heads.");
    if (head) fit.missing.push_back(misfit.name);
    return head;
  });
  WeightsFit shapes;
  shapes.misfits = fit.misfits;
  TY_REQUIRE(fit.misfits.empty(), "{}: weights of other shapes than the network's{}", path,
             differences_text(shapes, kShownDifferences));
  TY_REQUIRE(!fit.pairs.empty(), "{} has no tensor that the network has", path);
  take_weights(graph, *file, fit);
  return fit.missing;
}

bool has_random_weights(const Graph& graph) {
  const std::vector<ValueId> ids = graph.initializers();
  return std::any_of(ids.begin(), ids.end(), [&](ValueId id) {
    const Value& value = graph.value(id);
    return value.constant == nullptr && value.rule.kind != InitRule::Kind::kConstant;
  });
}

}  // namespace trainyard::network
