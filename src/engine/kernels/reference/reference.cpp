#include "engine/kernels/reference/reference.h"

#include <fmt/core.h>

#include "ops/inference.h"

namespace trainyard::kernels::reference {
namespace {

class RoutineKernel final : public Kernel {
 public:
  explicit RoutineKernel(ops::Routine routine) : routine_(std::move(routine)) {}
  void run(const KernelArgs& args) const override { routine_(args.inputs, args.outputs); }

 private:
  ops::Routine routine_;
};

// Keeps a copy of the node and infers it again in each run, from that run's inputs.
class RunTimeShapes final : public Kernel {
 public:
  RunTimeShapes(const NodeView& node, CreateKernel create) : node_(node.node()), create_(create) {}

  std::vector<Shape> output_shapes(std::span<const TensorView> inputs) const override {
    Graph graph;
    const NodeId id = add_with_values(graph, inputs);
    std::vector<Shape> shapes;
    for (TensorType& type : ops::infer_types(graph, id)) shapes.push_back(std::move(type.shape));
    return shapes;
  }

  void run(const KernelArgs& args) const override {
    Graph graph;
    const NodeId id = add_with_values(graph, args.inputs);
    const std::unique_ptr<Kernel> kernel = create_({graph, id});
    const Tensor scratch(DType::kU8, Shape{kernel->scratch_bytes()});
    const TensorView space = scratch.view();
    kernel->run({args.inputs,
                 args.outputs,
                 {space.as<std::byte>(), static_cast<size_t>(kernel->scratch_bytes())}});
  }

 private:
  // The node alone in `graph`, its inputs constants that borrow the memory of `inputs`.
  NodeId add_with_values(Graph& graph, std::span<const TensorView> inputs) const {
    std::vector<ValueId> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].data == nullptr) {
        values.push_back(kNoValue);
        continue;
      }
      values.push_back(graph.add_initializer(
          fmt::format("x{}", i),
          std::make_shared<const Tensor>(TensorType{inputs[i].dtype, *inputs[i].shape}, nullptr,
                                         inputs[i].data)));
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      names.push_back(node_.outputs[i].valid() ? fmt::format("y{}", i) : "");
    }
    const std::vector<TensorType> open(names.size());
    const NodeId id =
        graph.add_node(node_.name, node_.op, std::move(values), node_.attributes, names, open);
    const std::vector<TensorType> types = ops::infer_types(graph, id);
    for (size_t i = 0; i < types.size(); ++i) {
      const ValueId output = graph.node(id).outputs[i];
      if (output.valid()) graph.mutable_value(output).type = types[i];
    }
    return id;
  }

  Node node_;
  CreateKernel create_;
};

bool has_static_types(const NodeView& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !node.input_shape(i).is_static()) return false;
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (node.has_output(i) && !node.output_shape(i).is_static()) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Kernel> create_for_shapes(const NodeView& node, CreateKernel create) {
  if (has_static_types(node)) return create(node);
  return std::make_unique<RunTimeShapes>(node, create);
}

std::unique_ptr<Kernel> create_from_routine(ops::Routine routine) {
  return std::make_unique<RoutineKernel>(std::move(routine));
}

}  // namespace trainyard::kernels::reference
