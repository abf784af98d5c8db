// LSTM, GRU and RNN with constant weights and the usual activations.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/recurrent/recurrent.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/nn/recurrent.h"

namespace trainyard::kernels::native {
namespace {

CellKind kind_of(std::string_view op) {
  if (op == "LSTM") return CellKind::kLstm;
  return op == "GRU" ? CellKind::kGru : CellKind::kRnn;
}

bool has_usual_activations(const NodeView& node) {
  static const std::vector<std::string> kUsual[] = {
      {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  const std::vector<std::string> given = node.attr_texts("activations");
  const std::vector<std::string>& usual = kUsual[static_cast<size_t>(kind_of(node.op()))];
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != usual[i % usual.size()]) return false;
  }
  return true;
}

// Lengths that are all the whole sequence say nothing.
bool has_lengths(const NodeView& node, const ops::RecurrentSizes& sizes) {
  if (!node.has_input(4)) return false;
  const auto lengths = node.input_ints(4);
  if (!lengths) return true;
  for (const int64_t length : *lengths) {
    if (length != sizes.sequence) return true;
  }
  return false;
}

std::string_view refuses_recurrent(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const ops::RecurrentSizes sizes = ops::recurrent_sizes(node);
  if (sizes.sequence == 0 || sizes.batch == 0 || sizes.input == 0 || sizes.hidden == 0) {
    return "an operand is empty";
  }
  for (const size_t i : {1, 2, 3}) {
    if (node.has_input(i) && node.input_constant(i) == nullptr) {
      return "the weights are not constant";
    }
  }
  if (node.has_input(7)) return "peepholes are not implemented";
  if (has_lengths(node, sizes)) return "sequences of different length are not implemented";
  if (node.has_attr("clip")) return "clipping is not implemented";
  if (node.attr_int("input_forget", 0) != 0) return "coupled gates are not implemented";
  if (node.op() == "GRU" && node.attr_int("linear_before_reset", 0) == 0) {
    return "resetting before the product is not implemented";
  }
  return has_usual_activations(node) ? "" : "other activations are not implemented";
}

RecurrentShape shape_of(const NodeView& node) {
  const ops::RecurrentSizes sizes = ops::recurrent_sizes(node);
  return {.kind = kind_of(node.op()),
          .directions = sizes.directions,
          .sequence = sizes.sequence,
          .batch = sizes.batch,
          .input = sizes.input,
          .hidden = sizes.hidden,
          .batch_first = sizes.batch_first,
          .reversed = node.attr_text("direction", "forward") == "reverse"};
}

class RecurrentKernel final : public Kernel {
 public:
  explicit RecurrentKernel(const NodeView& node)
      : layer_(shape_of(node), constant_floats(node, 1), constant_floats(node, 2),
               constant_floats(node, 3), threads()) {}

  void run(const KernelArgs& args) const override {
    const auto in = [&](size_t i) {
      return i < args.inputs.size() ? args.inputs[i].as<const float>() : nullptr;
    };
    const auto out = [&](size_t i) {
      return i < args.outputs.size() ? args.outputs[i].as<float>() : nullptr;
    };
    layer_.run({in(0), in(5), in(6), out(0), out(1), out(2)}, args.scratch.data());
  }
  int64_t scratch_bytes() const override { return layer_.scratch_bytes(); }
  bool holds_input(size_t input) const override { return 1 <= input && input <= 3; }
  std::string detail() const override { return "packed"; }

 private:
  RecurrentLayer layer_;
};

std::unique_ptr<Kernel> create_recurrent(const NodeView& node) {
  return std::make_unique<RecurrentKernel>(node);
}

constexpr KernelDef recurrent_kernel(std::string_view op) {
  return {.op = op, .library = "native", .refuses = refuses_recurrent, .create = create_recurrent};
}

}  // namespace

extern const KernelDef kGRU = recurrent_kernel("GRU");
extern const KernelDef kLSTM = recurrent_kernel("LSTM");
extern const KernelDef kRNN = recurrent_kernel("RNN");

}  // namespace trainyard::kernels::native
