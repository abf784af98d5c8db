#include "engine/dynamic_node.h"

#include "base/error.h"
#include "engine/kernels/kernel_table.h"
#include "ops/inference.h"
#include "ops/op_def.h"

namespace trainyard::runtime {
namespace {

// A few numbers in a request may ask for any size.
constexpr int64_t kMostLateBytes = int64_t{2} << 30U;

// The same memory; the original stays the owner.
std::shared_ptr<const Tensor> borrow(const Tensor& tensor) {
  return {std::shared_ptr<void>(), &tensor};
}

TensorView view_of(const Tensor& tensor) {
  return {tensor.dtype(), &tensor.shape(), const_cast<void*>(tensor.data())};
}

// What inference has found out on the way; empty if an output is missing.
std::vector<Tensor> inferred_outputs(const NodeView& node) {
  std::vector<Tensor> outputs(node.num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    const Tensor* known = node.graph().value(node.output(i)).constant.get();
    if (known == nullptr) return {};
    outputs[i] = known->clone();
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> run_dynamic_node(const Graph& graph, NodeId id,
                                     std::span<const Tensor* const> inputs, bool reference_only) {
  const Node& node = graph.node(id);
  Graph alone("late");
  std::vector<ValueId> input_ids;
  std::vector<TensorView> input_views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool present = inputs[i] != nullptr;
    input_ids.push_back(present ? alone.add_initializer(fmt::format("x{}", i), borrow(*inputs[i]))
                                : kNoValue);
    input_views.push_back(present ? view_of(*inputs[i]) : TensorView{});
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    names.push_back(node.outputs[i].valid() ? fmt::format("y{}", i) : "");
  }
  const NodeId copy = alone.add_node(node.name, node.op, std::move(input_ids), node.attributes,
                                     names, std::vector<TensorType>(names.size()));
  const auto defs = kernels::kernels_of(node.op);
  TY_REQUIRE(!defs.empty(), "node '{}' ({}): no kernel computes it", node.name, node.op);
  const NodeView view(alone, copy);
  for (const kernels::KernelDef* def : defs) {
    if (def->make_outputs == nullptr || reference_only) continue;
    (void)ops::op_of(view).infer(view);  // throws Error for inputs that do not fit each other
    if (def->refuses(view).empty()) return def->make_outputs(view);
  }
  ops::infer_node(alone, copy);
  std::vector<Tensor> outputs = inferred_outputs(view);
  if (!outputs.empty()) return outputs;
  const auto kernel = defs.back()->create(view);
  const std::vector<Shape> shapes = kernel->output_shapes(input_views);
  std::vector<TensorView> output_views;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!view.has_output(i)) {
      outputs.emplace_back();
      continue;
    }
    TensorType type = view.output_type(i);
    if (i < shapes.size()) type.shape = shapes[i];
    TY_REQUIRE(type.num_bytes() <= kMostLateBytes,
               "node '{}' ({}): its output would be {}, {} bytes are allowed where data decide",
               node.name, node.op, type.to_string(), kMostLateBytes);
    outputs.emplace_back(std::move(type));
  }
  for (const Tensor& output : outputs) {
    output_views.push_back(output.empty() ? TensorView{} : view_of(output));
  }
  Tensor scratch(DType::kU8, Shape{kernel->scratch_bytes()});
  kernel->run(
      {input_views,
       output_views,
       {static_cast<std::byte*>(scratch.data()), static_cast<size_t>(scratch.num_bytes())}});
  return outputs;
}

void require_planned(const Value& planned, const TensorType& made) {
  const Shape& shape = planned.type.shape;
  bool fits = made.dtype == planned.type.dtype && made.shape.rank() == shape.rank();
  for (int64_t d = 0; fits && d < shape.rank(); ++d) {
    fits = shape[d] == Shape::kUnknown || shape[d] == made.shape[d];
  }
  TY_REQUIRE(fits, "'{}' became {}, expected {}", planned.name, made.to_string(),
             planned.type.to_string());
}

std::vector<Tensor> evaluate_node(const Graph& graph, NodeId id) {
  const NodeView node(graph, id);
  if (kernels::kernels_of(node.op()).empty()) return {};
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < node.num_inputs(); ++i) inputs.push_back(node.input_constant(i));
  return run_dynamic_node(graph, id, inputs, /*reference_only=*/false);
}

}  // namespace trainyard::runtime
