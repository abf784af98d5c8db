// From QuantizeLinear and DequantizeLinear around float operators to operators on integers.
#include <algorithm>
#include <set>

#include "ops/builder.h"
#include "ops/op_def.h"
#include "ops/passes/edit.h"
#include "quant/rewrite.h"

namespace trainyard::quant {
namespace {

// u8 or i8 with scale and zero point, as a DequantizeLinear has them.
struct Operand {
  ValueId steps;
  ValueId scale;
  ValueId zero;
};

class IntegerWriter {
 public:
  explicit IntegerWriter(Graph graph) : graph_(std::move(graph)), builder_(graph_) {}

  Graph run() {
    for (const NodeId id : graph_.node_ids()) {
      const NodeView node(graph_, id);
      if (node.op() == "Conv") convolution(id);
      if (node.op() == "Gemm") matrix_product(id);
      if (node.op() == "MatMul") plain_product(id);
    }
    for (const NodeId id : graph_.node_ids()) {
      if (moves_steps({graph_, id})) move(id);
    }
    graph_.sort();
    passes::remove_unused(graph_);
    return std::move(graph_);
  }

 private:
  // What an input dequantizes; steps that are not valid if it does not.
  Operand dequantized(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    if (!producer.valid() || graph_.node(producer).op != "DequantizeLinear") return {};
    const std::vector<ValueId>& in = graph_.node(producer).inputs;
    return {in[0], in[1], in.size() > 2 ? in[2] : kNoValue};
  }

  // The QuantizeLinear that is all that uses the first result of `node`, after at most a Relu.
  struct Rounding {
    NodeId node;
    bool after_relu = false;
  };
  Rounding rounding_of(NodeId node) const {
    bool after_relu = false;
    ValueId value = graph_.node(node).outputs[0];
    for (int hop = 0; hop < 2; ++hop) {
      if (graph_.value(value).consumers.size() != 1 || graph_.is_output(value)) return {};
      const NodeId next = graph_.value(value).consumers[0];
      if (graph_.node(next).op == "QuantizeLinear") return {next, after_relu};
      if (graph_.node(next).op != "Relu") return {};
      after_relu = true;
      value = graph_.node(next).outputs[0];
    }
    return {};
  }

  // Puts `steps` in the place of what the QuantizeLinear made.
  void replace(const Rounding& rounding, ValueId steps) {
    const Node& quantize = graph_.node(rounding.node);
    if (rounding.after_relu) {
      steps = builder_.add("Clip", {steps, quantize.inputs[2]}, {},
                           graph_.unique_name(quantize.name + "_relu"));
    }
    graph_.replace_uses(graph_.node(rounding.node).outputs[0], steps);
  }

  std::vector<ValueId> operands(const Operand& x, const Operand& w, NodeId quantize) const {
    const std::vector<ValueId>& y = graph_.node(quantize).inputs;
    return {x.steps, x.scale, x.zero, w.steps, w.scale, w.zero, y[1], y[2]};
  }

  void convolution(NodeId id) {
    const NodeView conv(graph_, id);
    const Operand x = dequantized(conv.input(0));
    const Operand w = dequantized(conv.input(1));
    const Rounding y = rounding_of(id);
    if (!x.steps.valid() || !w.steps.valid() || !y.node.valid()) return;
    std::vector<ValueId> inputs = operands(x, w, y.node);
    if (conv.has_input(2)) {
      const Operand bias = dequantized(conv.input(2));
      if (!bias.steps.valid()) return;
      inputs.push_back(bias.steps);
    }
    const Attributes attributes = conv.node().attributes;
    const std::string name = graph_.unique_name(conv.name() + "_int");
    replace(y, builder_.add("QLinearConv", std::move(inputs), attributes, name));
  }

  // As a convolution of one pixel, since QLinearMatMul has no bias.
  void matrix_product(NodeId id) {
    const NodeView gemm(graph_, id);
    const Operand x = dequantized(gemm.input(0));
    Operand w = dequantized(gemm.input(1));
    const Rounding y = rounding_of(id);
    if (!x.steps.valid() || !w.steps.valid() || !y.node.valid()) return;
    // A copy: nodes that are added move those that are there.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const std::string name = gemm.name();
    const Tensor& matrix = *graph_.value(w.steps).constant;
    const bool transposed = gemm.attr_int("transB", 0) != 0;
    const int64_t rows = matrix.shape()[transposed ? 0 : 1];
    const int64_t columns = matrix.shape()[transposed ? 1 : 0];
    Tensor filters(DType::kI8, Shape{rows, columns, 1, 1});
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t from = transposed ? r * columns + c : c * rows + r;
        filters.values<int8_t>()[static_cast<size_t>(r * columns + c)] =
            matrix.values<int8_t>()[static_cast<size_t>(from)];
      }
    }
    w.steps = passes::add_constant(graph_, name + ".filters", std::move(filters));
    const std::vector<int64_t> spatial = {2, 3};
    const ValueId axes = passes::add_constant(graph_, name + ".axes", Tensor::of_ints(spatial));
    Operand pixel = x;
    pixel.steps =
        builder_.add("Unsqueeze", {x.steps, axes}, {}, graph_.unique_name(name + "_pixel"));
    std::vector<ValueId> inputs = operands(pixel, w, y.node);
    if (gemm.has_input(2)) {
      const Operand bias = dequantized(gemm.input(2));
      if (!bias.steps.valid()) return;
      inputs.push_back(bias.steps);
    }
    const ValueId made =
        builder_.add("QLinearConv", std::move(inputs), {}, graph_.unique_name(name + "_int"));
    replace(y, builder_.add("Squeeze", {made, axes}, {}, graph_.unique_name(name + "_row")));
  }

  void plain_product(NodeId id) {
    const NodeView product(graph_, id);
    const Operand a = dequantized(product.input(0));
    const Operand b = dequantized(product.input(1));
    const Rounding y = rounding_of(id);
    if (!a.steps.valid() || !b.steps.valid() || !y.node.valid()) return;
    const std::string name = graph_.unique_name(product.name() + "_int");
    replace(y, builder_.add("QLinearMatMul", operands(a, b, y.node), {}, name));
  }

  bool same_constant(ValueId a, ValueId b) const {
    const auto& x = graph_.value(a).constant;
    const auto& y = graph_.value(b).constant;
    return x != nullptr && y != nullptr && x->num_elements() == 1 && y->num_elements() == 1 &&
           element_as_double(*x, 0) == element_as_double(*y, 0);
  }

  static bool moves_steps(const NodeView& node) {
    return ops::op_of(node).int8 == ops::Int8Form::kMove &&
           ops::movement_of(node) != ops::Movement::kComputed &&
           node.output_type(0).dtype == DType::kF32;
  }

  // DequantizeLinear, a move, QuantizeLinear to the same steps: the move alone.
  void move(NodeId id) {
    const NodeView node(graph_, id);
    const Rounding y = rounding_of(id);
    if (!y.node.valid() || y.after_relu) return;
    const std::vector<ValueId> to = graph_.node(y.node).inputs;
    const bool joins = ops::movement_of(node) == ops::Movement::kJoined;
    const size_t moved = joins ? node.num_inputs() : 1;
    std::vector<ValueId> inputs = node.node().inputs;
    for (size_t i = 0; i < moved; ++i) {
      const Operand from = dequantized(inputs[i]);
      if (!from.steps.valid() || !from.zero.valid()) return;
      if (!same_constant(from.scale, to[1]) || !same_constant(from.zero, to[2])) return;
      inputs[i] = from.steps;
    }
    if (node.op() == "Pad") {  // with the step of zero
      inputs.resize(std::max<size_t>(inputs.size(), 3), kNoValue);
      inputs[2] = to[2];
    }
    const Attributes attributes = node.node().attributes;
    replace(y, builder_.add(node.op(), std::move(inputs), attributes,
                            graph_.unique_name(node.name() + "_int")));
  }

  Graph graph_;
  ops::Builder builder_;
};

}  // namespace

Graph to_integer_operators(Graph graph) {
  return IntegerWriter(std::move(graph)).run();
}

}  // namespace trainyard::quant
