// Gemm and FusedGemm with constant weights on a small batch.
#include "kernels/api/kernel.h"
#include "kernels/api/refusals.h"
#include "kernels/native/conv/conv_node.h"
#include "kernels/native/cpu.h"
#include "kernels/native/gemm/packed_linear.h"
#include "kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

LinearShape shape_of_linear_node(const NodeView& node) {
  return {.rows = node.output_shape(0)[0],
          .inputs = node.input_shape(0)[1],
          .outputs = node.output_shape(0)[1]};
}

std::string_view refuses_linear_node(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0) {
    return "an operand is empty";
  }
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
  if (node.attr_int("transA", 0) != 0) return "a transposed first operand is not implemented";
  if (node.attr_float("alpha", 1.0F) != 1.0F) return "alpha other than 1 is not implemented";
  if (!has_range_activation(node)) return "the activation is not implemented";
  if (!packed_linear_pays(shape_of_linear_node(node)))
    return "another kernel is expected to be faster";
  if (!node.has_input(2)) return "";
  if (node.attr_float("beta", 1.0F) != 1.0F) return "beta other than 1 is not implemented";
  if (node.input_constant(2) == nullptr) return "the bias is not constant";
  const Shape& bias = node.input_shape(2);
  if (bias.num_elements() != node.output_shape(0)[1] || bias.dim(-1) != bias.num_elements()) {
    return "the bias is not one number per column";
  }
  return "";
}

PackedLinear make_linear(const NodeView& node) {
  const LinearShape shape = shape_of_linear_node(node);
  const bool transposed = node.attr_int("transB", 0) != 0;
  return PackedLinear(shape, constant_floats(node, 1), transposed ? shape.inputs : 1,
                      transposed ? 1 : shape.outputs, constant_floats(node, 2),
                      range_activation(node));
}

class LinearKernel final : public Kernel {
 public:
  explicit LinearKernel(const NodeView& node) : threads_(threads()), linear_(make_linear(node)) {}

  void run(const KernelArgs& args) const override {
    linear_.run(args.inputs[0].as<float>(), args.outputs[0].as<float>(), args.scratch.data(),
                threads_);
  }
  int64_t scratch_bytes() const override { return linear_.scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == 2; }
  std::string detail() const override { return "packed"; }

 private:
  int threads_;
  PackedLinear linear_;
};

std::unique_ptr<Kernel> create_linear_node(const NodeView& node) {
  return std::make_unique<LinearKernel>(node);
}

}  // namespace

extern const KernelDef kGemm = {.op = "Gemm",
                                .library = "native",
                                .refuses = refuses_linear_node,
                                .create = create_linear_node};
extern const KernelDef kFusedGemm = {.op = "FusedGemm",
                                     .library = "native",
                                     .refuses = refuses_linear_node,
                                     .create = create_linear_node};

}  // namespace trainyard::kernels::native
