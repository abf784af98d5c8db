#include "ops/builder.h"

#include <cctype>

#include <fmt/core.h>

#include "base/error.h"
#include "ops/inference.h"

namespace trainyard::ops {

ValueId Builder::input(std::string_view name, TensorType type) {
  return graph_.add_input(graph_.unique_name(name), std::move(type));
}

ValueId Builder::parameter(std::string_view name, Shape shape, InitRule rule, DType dtype) {
  return graph_.add_initializer(graph_.unique_name(name), {dtype, std::move(shape)}, rule);
}

ValueId Builder::constant(std::string_view name, Tensor data) {
  return graph_.add_initializer(graph_.unique_name(name),
                                std::make_shared<const Tensor>(std::move(data)));
}

ValueId Builder::constant_ints(std::string_view name, std::span<const int64_t> values) {
  return constant(name, Tensor::of_ints(values));
}

ValueId Builder::constant_scalar(std::string_view name, float value) {
  return constant(name, Tensor::scalar(value));
}

ValueId Builder::add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                     std::string_view name) {
  return add_multi(op, std::move(inputs), 1, std::move(attributes), name)[0];
}

std::vector<ValueId> Builder::add_multi(std::string_view op, std::vector<ValueId> inputs,
                                        size_t num_outputs, Attributes attributes,
                                        std::string_view name) {
  std::string base(name);
  if (base.empty()) {
    base = prefix_;
    for (const char c : op) base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const std::string node_name = graph_.unique_name(base);
  std::vector<std::string> output_names = {node_name};
  for (size_t i = 1; i < num_outputs; ++i) {
    output_names.push_back(graph_.unique_name(fmt::format("{}.{}", node_name, i)));
  }
  const std::vector<TensorType> unknown(num_outputs);
  const NodeId id = graph_.add_node(node_name, std::string(op), std::move(inputs),
                                    std::move(attributes), output_names, unknown);
  infer_node(graph_, id);
  return graph_.node(id).outputs;
}

}  // namespace trainyard::ops
