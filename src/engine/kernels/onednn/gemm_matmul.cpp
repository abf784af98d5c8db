// Gemm and FusedGemm by oneDNN's products of matrices: operands that change, either one transposed.
// They are read where they lie; nothing is packed between runs.
#include <algorithm>

#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/dnnl.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::onednn {
namespace {

std::string_view refuses_gemm_matmul(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0) {
    return "an operand is empty";
  }
  if (!node.has_input(2)) return "";
  if (node.attr_float("alpha", 1.0F) != 1.0F || node.attr_float("beta", 1.0F) != 1.0F) {
    return "factors together with a bias are not implemented";
  }
  const Shape& bias = node.input_shape(2);
  if (bias.num_elements() != node.output_shape(0)[1] || bias.dim(-1) != bias.num_elements()) {
    return "the bias is not one number per column";
  }
  return "";
}

// A row-major matrix, or its transpose.
Desc matrix(const Shape& shape, bool transposed) {
  const int64_t rows = shape[0];
  const int64_t columns = shape[1];
  const auto f32 = dnnl::memory::data_type::f32;
  if (transposed) return {{columns, rows}, f32, dnnl::memory::dims{1, columns}};
  return {{rows, columns}, f32, dnnl::memory::dims{columns, 1}};
}

dnnl::matmul::primitive_desc describe_gemm_matmul(const NodeView& node) {
  const Shape& y = node.output_shape(0);
  const Desc a = matrix(node.input_shape(0), node.attr_int("transA", 0) != 0);
  const Desc b = matrix(node.input_shape(1), node.attr_int("transB", 0) != 0);
  const Desc bias = node.has_input(2) ? matrix(Shape{1, y[1]}, /*transposed=*/false) : Desc();
  dnnl::primitive_attr attr = user_scratch_attr();
  const float alpha = node.attr_float("alpha", 1.0F);
  if (alpha != 1.0F) attr.set_output_scales(0, {alpha});
  dnnl::post_ops ops;
  const bool known = append_activation(ops, node.attr_text("activation", ""),
                                       node.attr_float("activation_alpha", 0.0F),
                                       node.attr_float("activation_beta", 0.0F));
  TY_CHECK(known, "activation '{}' reached oneDNN", node.attr_text("activation", ""));
  attr.set_post_ops(ops);
  return {{a, b, bias, matrix(y, /*transposed=*/false)}, attr, engine()};
}

class GemmByMatMul final : public OnednnKernel {
 public:
  explicit GemmByMatMul(const NodeView& node)
      : pd_(describe_gemm_matmul(node)), primitive_(pd_), has_bias_(node.has_input(2)) {}

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    BoundPrimitives::Arguments arguments = {
        {DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
        {DNNL_ARG_WEIGHTS, memory_at(pd_.weights_desc(), args.inputs[1].data)},
        {DNNL_ARG_DST, memory_at(pd_.dst_desc(), args.outputs[0].data)},
        {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}};
    if (has_bias_) {
      arguments.emplace_back(DNNL_ARG_BIAS, memory_at(pd_.bias_desc(), args.inputs[2].data));
    }
    bound->add(primitive_, std::move(arguments));
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  dnnl::matmul::primitive_desc pd_;
  dnnl::matmul primitive_;
  bool has_bias_;
};

std::string_view refuses_sgemm(const NodeView& node) {
  if (const std::string_view why = refuses_gemm_matmul(node); !why.empty()) return why;
  return node.attr_text("activation", "").empty() ? "" : "activations are not implemented";
}

// The function of BLAS, which for large matrices is about twice as fast as the primitive.
class Sgemm final : public Kernel {
 public:
  explicit Sgemm(const NodeView& node)
      : rows_(node.output_shape(0)[0]),
        columns_(node.output_shape(0)[1]),
        a_(node, 0, "transA"),
        b_(node, 1, "transB"),
        alpha_(node.attr_float("alpha", 1.0F)) {}

  void run(const KernelArgs& args) const override {
    auto* y = args.outputs[0].as<float>();
    const float* bias = args.inputs.size() > 2 ? args.inputs[2].as<const float>() : nullptr;
    if (bias != nullptr) {
      parallel_for(rows_, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) std::copy_n(bias, columns_, y + row * columns_);
      });
    }
    const int64_t depth = a_.transposed ? a_.rows : a_.columns;
    dnnl_sgemm(a_.transposed ? 'T' : 'N', b_.transposed ? 'T' : 'N', rows_, columns_, depth, alpha_,
               args.inputs[0].as<const float>(), a_.columns, args.inputs[1].as<const float>(),
               b_.columns, bias == nullptr ? 0.0F : 1.0F, y, columns_);
  }
  std::string detail() const override { return "sgemm"; }

 private:
  struct Operand {
    Operand(const NodeView& node, size_t i, std::string_view attribute)
        : rows(node.input_shape(i)[0]),
          columns(node.input_shape(i)[1]),
          transposed(node.attr_int(attribute, 0) != 0) {}
    int64_t rows;
    int64_t columns;
    bool transposed;
  };

  int64_t rows_;
  int64_t columns_;
  Operand a_;
  Operand b_;
  float alpha_;
};

std::unique_ptr<Kernel> create_sgemm(const NodeView& node) {
  return std::make_unique<Sgemm>(node);
}

std::unique_ptr<Kernel> create_gemm_matmul(const NodeView& node) {
  return std::make_unique<GemmByMatMul>(node);
}

}  // namespace

extern const KernelDef kGemmBySgemm = {
    .op = "Gemm", .library = "onednn", .refuses = refuses_sgemm, .create = create_sgemm};
extern const KernelDef kFusedGemmByMatMul = {.op = "FusedGemm",
                                             .library = "onednn",
                                             .refuses = refuses_gemm_matmul,
                                             .create = create_gemm_matmul};

}  // namespace trainyard::kernels::onednn
