// Gemm and FusedGemm of operands that change between runs, when products may be in bf16.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/gemm/half_gemm.h"
#include "engine/kernels/native/gemm/wide_finish.h"

namespace trainyard::kernels::native {
namespace {

HalfGemmShape half_gemm_shape(const NodeView& node) {
  const bool a_transposed = node.attr_int("transA", 0) != 0;
  return {.rows = node.output_shape(0)[0],
          .depth = node.input_shape(0)[a_transposed ? 0 : 1],
          .columns = node.output_shape(0)[1],
          .a_transposed = a_transposed,
          .b_transposed = node.attr_int("transB", 0) != 0};
}

std::string_view refuses_half_gemm(const NodeView& node) {
  if (precision_here() != Precision::kBf16) return "bf16 is not asked for";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (!half_gemm_pays(half_gemm_shape(node))) return "another kernel is expected to be faster";
  if (!wide_finish(node)) return "the activation is not implemented";
  if (!node.has_input(2)) return "";
  if (node.attr_float("beta", 1.0F) != 1.0F) return "beta other than 1 is not implemented";
  const Shape& bias = node.input_shape(2);
  if (bias.num_elements() != node.output_shape(0)[1] || bias.dim(-1) != bias.num_elements()) {
    return "the bias is not one number per column";
  }
  return "";
}

WideFinish half_gemm_finish(const NodeView& node) {
  WideFinish finish = *wide_finish(node);
  finish.factor = node.attr_float("alpha", 1.0F);
  return finish;
}

class HalfGemmKernel final : public Kernel {
 public:
  explicit HalfGemmKernel(const NodeView& node)
      : has_bias_(node.has_input(2)), gemm_(half_gemm_shape(node), half_gemm_finish(node)) {}

  void run(const KernelArgs& args) const override {
    gemm_.run(args.inputs[0].as<float>(), args.inputs[1].as<float>(),
              has_bias_ ? args.inputs[2].as<float>() : nullptr, args.outputs[0].as<float>(),
              args.scratch.data());
  }
  int64_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  Precision precision() const override { return Precision::kBf16; }
  std::string detail() const override { return "bf16"; }

 private:
  bool has_bias_;
  HalfGemm gemm_;
};

std::unique_ptr<Kernel> create_half_gemm(const NodeView& node) {
  return std::make_unique<HalfGemmKernel>(node);
}

constexpr KernelDef half_gemm_kernel(std::string_view op) {
  return {.op = op, .library = "native", .refuses = refuses_half_gemm, .create = create_half_gemm};
}

}  // namespace

extern const KernelDef kHalfGemm = half_gemm_kernel("Gemm");
extern const KernelDef kHalfFusedGemm = half_gemm_kernel("FusedGemm");

}  // namespace trainyard::kernels::native
