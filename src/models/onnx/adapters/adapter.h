// What adapters are, and what they share: a rewrite of one node on its way into the graph.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "models/onnx/import_node.h"

namespace trainyard::onnx_io {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

struct Adapter {
  std::string_view domain;  // empty: ONNX's own
  std::string_view op;
  int64_t first;  // applies from this opset on
  int64_t below;  // and before this one
  // Throws Error, without the node's name.
  void (*rewrite)(ImportNode&, Emitter&);
};
inline constexpr int64_t kAnyOpset = 1'000'000;

// In the order in which they apply.
std::span<const Adapter> older_adapters();      // below opset 17
std::span<const Adapter> newer_adapters();      // above
std::span<const Adapter> function_adapters();   // operators that others make up
std::span<const Adapter> einsum_adapters();     // likewise
std::span<const Adapter> microsoft_adapters();  // of the domain com.microsoft
std::span<const Adapter> quantized_adapters();  // likewise
std::span<const Adapter> training_adapters();   // of the domain ai.onnx.preview.training

// Removes an attribute and returns its value.
template <typename T>
std::optional<T> take(ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  T* value = std::get_if<T>(&found->second);
  TY_REQUIRE(value != nullptr, "attribute '{}' is {}", name,
             attr_kind_name(attr_kind(found->second)));
  T taken = std::move(*value);
  node.attributes.erase(found);
  return taken;
}

inline void drop(ImportNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found != node.attributes.end()) node.attributes.erase(found);
}

inline ValueId input(const ImportNode& node, size_t i) {
  TY_REQUIRE(i < node.inputs.size() && node.inputs[i].valid(), "input {} is missing", i);
  return node.inputs[i];
}

inline void set_input(ImportNode& node, size_t i, ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1, kNoValue);
  node.inputs[i] = value;
}

// An integer-list attribute that became input `i`.
inline void ints_to_input(ImportNode& node, Emitter& emitter, std::string_view name, size_t i) {
  if (const auto values = take<Ints>(node, name)) {
    set_input(node, i, emitter.add_ints(node.name + "." + std::string(name), *values));
  }
}

// A number in the type of input 0, as an attribute that became an input is given.
inline ValueId scalar_like(const ImportNode& node, Emitter& emitter, std::string_view name,
                           double value) {
  return emitter.add_constant(node.name + "." + std::string(name),
                              cast(Tensor::scalar(value), emitter.type(input(node, 0)).dtype));
}

// Absent inputs and inputs beyond the end are none.
inline ValueId optional_input(const ImportNode& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : kNoValue;
}
inline bool has_output(const ImportNode& node, size_t i) {
  return i < node.outputs.size() && !node.outputs[i].empty();
}

}  // namespace trainyard::onnx_io
