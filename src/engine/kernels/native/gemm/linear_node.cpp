// Gemm, FusedGemm and MatMul with constant weights: on a small batch, or with AVX-512.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/packed_linear.h"
#include "engine/kernels/native/gemm/wide_finish.h"
#include "engine/kernels/native/gemm/wide_linear.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::native {
namespace {

// Rows of a MatMul may have several dimensions.
LinearShape shape_of_linear_node(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  return {.rows = x.num_elements(0, x.rank() - 1),
          .inputs = x.dim(-1),
          .outputs = node.output_shape(0).dim(-1)};
}

std::string_view refuses_linear_node(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
  if (node.input_shape(0).rank() < 2 || node.input_shape(1).rank() != 2) {
    return "the operands are not rows and a matrix";
  }
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0) {
    return "an operand is empty";
  }
  if (node.attr_int("transA", 0) != 0) return "a transposed first operand is not implemented";
  if (node.attr_float("alpha", 1.0F) != 1.0F) return "alpha other than 1 is not implemented";
  if (!node.has_input(2)) return "";
  if (node.attr_float("beta", 1.0F) != 1.0F) return "beta other than 1 is not implemented";
  if (node.input_constant(2) == nullptr) return "the bias is not constant";
  const Shape& bias = node.input_shape(2);
  if (bias.num_elements() != node.output_shape(0)[1] || bias.dim(-1) != bias.num_elements()) {
    return "the bias is not one number per column";
  }
  return "";
}

std::string_view refuses_packed_linear(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (const std::string_view why = refuses_linear_node(node); !why.empty()) return why;
  if (!has_range_activation(node)) return "the activation is not implemented";
  if (!packed_linear_pays(shape_of_linear_node(node))) {
    return "another kernel is expected to be faster";
  }
  return "";
}

std::string_view refuses_wide_linear(const NodeView& node) {
  if (!cpu_has_avx512()) return "the processor lacks AVX-512";
  if (const std::string_view why = refuses_linear_node(node); !why.empty()) return why;
  return wide_finish(node) ? "" : "the activation is not implemented";
}

// Made by `Linear`(shape, weights, strides, bias, finish, more...).
template <typename Linear, typename Finish, typename... More>
Linear make_linear(const NodeView& node, const Finish& finish, More... more) {
  const LinearShape shape = shape_of_linear_node(node);
  const bool transposed = node.attr_int("transB", 0) != 0;
  return Linear(shape, constant_floats(node, 1), transposed ? shape.inputs : 1,
                transposed ? 1 : shape.outputs, constant_floats(node, 2), finish, more...);
}

class LinearKernel final : public Kernel {
 public:
  explicit LinearKernel(const NodeView& node)
      : threads_(threads()), linear_(make_linear<PackedLinear>(node, range_activation(node))) {}

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

class WideLinearKernel final : public Kernel {
 public:
  explicit WideLinearKernel(const NodeView& node)
      : linear_(make_linear<WideLinear>(node, *wide_finish(node), precision_here())) {}

  void run(const KernelArgs& args) const override {
    linear_.run(args.inputs[0].as<float>(), args.outputs[0].as<float>(), args.scratch.data());
  }
  int64_t scratch_bytes() const override { return linear_.scratch_bytes(); }
  Precision precision() const override { return linear_.precision(); }
  bool holds_input(size_t input) const override { return input == 1 || input == 2; }
  std::string detail() const override {
    return precision() == Precision::kBf16 ? "packed in bf16" : "packed for AVX-512";
  }

 private:
  WideLinear linear_;
};

template <typename K>
std::unique_ptr<Kernel> create_linear_node(const NodeView& node) {
  return std::make_unique<K>(node);
}

constexpr KernelDef packed_linear_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_packed_linear,
          .create = create_linear_node<LinearKernel>};
}

constexpr KernelDef wide_linear_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_wide_linear,
          .create = create_linear_node<WideLinearKernel>};
}

}  // namespace

extern const KernelDef kGemm = packed_linear_kernel("Gemm");
extern const KernelDef kFusedGemm = packed_linear_kernel("FusedGemm");
extern const KernelDef kWideGemm = wide_linear_kernel("Gemm");
extern const KernelDef kWideFusedGemm = wide_linear_kernel("FusedGemm");
extern const KernelDef kWideMatMul = wide_linear_kernel("MatMul");

}  // namespace trainyard::kernels::native
