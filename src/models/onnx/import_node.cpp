#include "models/onnx/import_node.h"

#include <algorithm>

#include <fmt/core.h>

#include "ops/inference.h"
#include "ops/op_def.h"

namespace trainyard::onnx_io {

std::string Emitter::fresh_name(const std::string& base) {
  if (reserve(base)) return base;
  int64_t& next = next_[base];
  std::string name;
  do {
    name = fmt::format("{}_{}", base, ++next);
  } while (!reserve(name));
  return name;
}

NodeId Emitter::add(ImportNode node) {
  // Files may leave out what nobody reads; inference, costs and kernels count on it being there.
  if (const ops::OpDef* op = ops::find_op(node.op)) {
    const auto least = std::min(node.outputs.size(), static_cast<size_t>(op->outputs.least));
    for (size_t i = 0; i < least; ++i) {
      if (node.outputs[i].empty()) node.outputs[i] = fresh_name(node.name + ".unused");
    }
  }
  const std::vector<TensorType> unknown(node.outputs.size());
  const NodeId id =
      graph_.add_node(std::move(node.name), std::move(node.op), std::move(node.inputs),
                      std::move(node.attributes), node.outputs, unknown);
  ops::infer_node(graph_, id);
  return id;
}

ValueId Emitter::add_helper(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                            const std::string& name) {
  ImportNode node;
  node.name = fresh_name(name);
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {node.name};
  node.attributes = std::move(attributes);
  return graph_.node(add(std::move(node))).outputs[0];
}

void Emitter::add_output(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                         const std::string& output) {
  ImportNode node;
  node.name = fresh_name(output + ".node");
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  node.attributes = std::move(attributes);
  add(std::move(node));
}

ValueId Emitter::add_constant(const std::string& name, Tensor data) {
  return graph_.add_initializer(fresh_name(name), std::make_shared<const Tensor>(std::move(data)));
}

ValueId Emitter::add_ints(const std::string& name, const std::vector<int64_t>& values) {
  return add_constant(name, Tensor::of_ints(values));
}

}  // namespace trainyard::onnx_io
