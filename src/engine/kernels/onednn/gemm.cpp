// Gemm and FusedGemm by oneDNN's inner product, for constant weights.
#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/dnnl.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::inner_product_forward;
std::string_view refuses_gemm(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0) {
    return "an operand is empty";
  }
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
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

// Weights as (outputs, inputs), whatever way the file has them.
Desc plain_weights_gemm(const NodeView& node) {
  const int64_t inputs = node.input_shape(0)[1];
  const int64_t outputs = node.output_shape(0)[1];
  const bool transposed = node.attr_int("transB", 0) != 0;
  return {{outputs, inputs},
          dnnl::memory::data_type::f32,
          transposed ? dnnl::memory::dims{inputs, 1} : dnnl::memory::dims{1, outputs}};
}

// One row times the matrix reads each weight once, so any layout will do: the weights stay where
// they are.
bool uses_weights_in_place(const NodeView& node) {
  return node.input_shape(0)[0] == 1 && node.attr_int("transB", 0) != 0;
}

inner_product_forward::primitive_desc describe_gemm(const NodeView& node) {
  const Desc bias = node.has_input(2) ? Desc({node.output_shape(0)[1]},
                                             dnnl::memory::data_type::f32, dnnl::memory::dims{1})
                                      : Desc();
  const inner_product_forward::desc desc(
      dnnl::prop_kind::forward_inference, to_desc(node.input_type(0)),
      uses_weights_in_place(node) ? plain_weights_gemm(node)
                                  : any_desc(plain_weights_gemm(node).dims()),
      bias, to_desc(node.output_type(0)));
  dnnl::primitive_attr attr = user_scratch_attr();
  dnnl::post_ops ops;
  const bool known = append_activation(ops, node.attr_text("activation", ""),
                                       node.attr_float("activation_alpha", 0.0F),
                                       node.attr_float("activation_beta", 0.0F));
  TY_CHECK(known, "activation '{}' reached oneDNN", node.attr_text("activation", ""));
  attr.set_post_ops(ops);
  return {desc, attr, engine(), /*allow_empty=*/true};
}

class Gemm final : public OnednnKernel {
 public:
  explicit Gemm(const NodeView& node) : pd_(describe_gemm(node)), primitive_(pd_) {
    if (!uses_weights_in_place(node)) {
      weights_ = pack_constant(plain_weights_gemm(node), node.input_constant(1)->data(),
                               pd_.weights_desc());
    }
    if (const Tensor* bias = node.input_constant(2)) {
      bias_ = pack_constant(pd_.bias_desc(), bias->data(), pd_.bias_desc());
    }
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    BoundPrimitives::Arguments arguments = {
        {DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
        {DNNL_ARG_WEIGHTS,
         holds_input(1) ? weights_.memory() : memory_at(pd_.weights_desc(), args.inputs[1].data)},
        {DNNL_ARG_DST, memory_at(pd_.dst_desc(), args.outputs[0].data)},
        {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}};
    if (bias_.data.size() > 0) arguments.emplace_back(DNNL_ARG_BIAS, bias_.memory());
    bound->add(primitive_, std::move(arguments));
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  bool holds_input(size_t input) const override {
    return (input == 1 && weights_.data.size() > 0) || input == 2;
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  inner_product_forward::primitive_desc pd_;
  inner_product_forward primitive_;
  PackedConstant weights_;
  PackedConstant bias_;
};

std::unique_ptr<Kernel> create_gemm(const NodeView& node) {
  return std::make_unique<Gemm>(node);
}

}  // namespace

extern const KernelDef kGemm = {
    .op = "Gemm", .library = "onednn", .refuses = refuses_gemm, .create = create_gemm};
extern const KernelDef kFusedGemm = {
    .op = "FusedGemm", .library = "onednn", .refuses = refuses_gemm, .create = create_gemm};

}  // namespace trainyard::kernels::onednn
