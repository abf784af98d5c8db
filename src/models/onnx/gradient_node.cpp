#include "models/onnx/gradient_node.h"

#include <algorithm>

#include "base/error.h"
#include "models/onnx/graph_importer.h"
#include "ops/autodiff/differentiate.h"

namespace trainyard::onnx_io {
namespace {

template <typename T>
const T* attribute_of(const FileNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

// The names the node differentiates by; its inputs feed them. Here these must be the same.
size_t count_variables(const FileNode& node) {
  const auto* variables = attribute_of<std::vector<std::string>>(node, "xs");
  TY_REQUIRE(variables != nullptr, "attribute 'xs', a list of names, is missing");
  std::vector<std::string> named = *variables;
  if (const auto* others = attribute_of<std::vector<std::string>>(node, "zs")) {
    named.insert(named.end(), others->begin(), others->end());
  }
  TY_REQUIRE(named == node.inputs,
             "its inputs are not the values that 'xs' and 'zs' name, which is not supported");
  TY_REQUIRE(node.outputs.size() <= variables->size(), "it has {} outputs for {} names in 'xs'",
             node.outputs.size(), variables->size());
  return variables->size();
}

}  // namespace

bool is_gradient(const FileNode& node) {
  return node.op == "Gradient" && node.domain == "ai.onnx.preview.training";
}

std::string differentiated_by(const FileNode& node) {
  const auto* name = attribute_of<std::string>(node, "y");
  return name == nullptr ? "" : *name;
}

bool GraphImporter::add_gradient(const FileNode& node) {
  if (!is_gradient(node)) return false;
  std::vector<ValueId> variables;
  for (size_t i = 0; i < count_variables(node); ++i) {
    variables.push_back(graph_.find_value(node.inputs[i]));
    TY_REQUIRE(variables.back().valid(), "'{}' is not a tensor of this graph", node.inputs[i]);
  }
  const ValueId y = graph_.find_value(differentiated_by(node));
  TY_REQUIRE(y.valid(), "attribute 'y' names no tensor of this graph");
  // Of several elements the sum is differentiated.
  const ValueId sum =
      emitter_.shape(y).num_elements() == 1
          ? y
          : emitter_.add_helper("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "gradient.sum");
  const std::vector<ValueId> found = autodiff::differentiate(graph_, sum, variables);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (found[i].valid()) {
      emitter_.add_output("Identity", {found[i]}, {}, node.outputs[i]);
      continue;
    }
    // y does not change with it.
    Tensor zeros(emitter_.type(variables[i]));
    fill_by_rule(init_constant(0), 0, node.outputs[i], zeros);
    graph_.add_initializer(node.outputs[i], std::make_shared<const Tensor>(std::move(zeros)));
  }
  return true;
}

}  // namespace trainyard::onnx_io
