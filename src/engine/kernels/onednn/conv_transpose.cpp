// ConvTranspose by oneDNN's deconvolution: any groups, strides and dilations.
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/dnnl.h"
#include "ops/nn/window.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::deconvolution_forward;
constexpr size_t kConvTransposeBias = 2;

// Weights are packed when the kernel is made, so they must be known by then.
// What is added at the end of the output is padding taken away there.
dnnl::memory::dims pads_at_end(const NodeView& node, const ops::Window& window) {
  dnnl::memory::dims pads_end;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t covered =
        (node.input_shape(0)[static_cast<int64_t>(i) + 2] - 1) * window.strides[i] +
        (window.kernel[i] - 1) * window.dilations[i] + 1;
    pads_end.push_back(covered - window.pads_begin[i] - window.output[i]);
  }
  return pads_end;
}

std::string_view refuses_conv_transpose(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const int64_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return "only one to three spatial dimensions are implemented";
  if (node.output_shape(0).num_elements() == 0 || node.input_shape(0).num_elements() == 0) {
    return "a tensor is empty";
  }
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
  if (node.has_input(kConvTransposeBias) && node.input_constant(kConvTransposeBias) == nullptr) {
    return "the bias is not constant";
  }
  const ops::Window window =
      ops::resolve_transposed_window(node, node.input_shape(0), node.input_shape(1));
  const dnnl::memory::dims ends = pads_at_end(node, window);
  for (size_t i = 0; i < window.rank(); ++i) {
    if (ends[i] <= -window.strides[i]) return "more than a stride beyond the windows is wanted";
  }
  return "";
}

// ONNX has I x O/G x window; the library wants [G x] O/G x I/G x window.
Desc plain_weights_conv_transpose(const NodeView& node) {
  const Shape& w = node.input_shape(1);
  const int64_t group = node.attr_int("group", 1);
  const std::vector<int64_t> own = w.strides();
  dnnl::memory::dims dims = {w[1], w[0] / group};
  dnnl::memory::dims strides = {own[1], own[0]};
  for (int64_t d = 2; d < w.rank(); ++d) {
    dims.push_back(w[d]);
    strides.push_back(own[static_cast<size_t>(d)]);
  }
  if (group > 1) {
    dims.insert(dims.begin(), group);
    strides.insert(strides.begin(), w[0] / group * own[0]);
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

deconvolution_forward::primitive_desc describe_conv_transpose(const NodeView& node, const Desc& x,
                                                              const Desc& y) {
  const ops::Window window =
      ops::resolve_transposed_window(node, node.input_shape(0), node.input_shape(1));
  // The library counts the gaps between taps, ONNX their distance.
  dnnl::memory::dims dilations = to_dims(window.dilations);
  for (auto& d : dilations) --d;
  const dnnl::memory::dims pads_end = pads_at_end(node, window);
  const Desc bias =
      node.has_input(kConvTransposeBias) ? to_desc(node.input_type(kConvTransposeBias)) : Desc();
  const deconvolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, x,
      any_desc(plain_weights_conv_transpose(node).dims()), bias, y, to_dims(window.strides),
      dilations, to_dims(window.pads_begin), pads_end);
  return {desc, user_scratch_attr(), engine(), /*allow_empty=*/true};
}

class ConvTranspose final : public OnednnKernel {
 public:
  ConvTranspose(const NodeView& node, const NodeLayouts& layouts)
      : pd_(describe_conv_transpose(node, to_desc(node.input_type(0), layouts.inputs[0]),
                                    to_desc(node.output_type(0), layouts.outputs[0]))),
        primitive_(pd_),
        weights_(pack_constant(plain_weights_conv_transpose(node), node.input_constant(1)->data(),
                               pd_.weights_desc())) {
    if (node.has_input(kConvTransposeBias)) {
      bias_ = pack_constant(pd_.bias_desc(), node.input_constant(kConvTransposeBias)->data(),
                            pd_.bias_desc());
    }
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    BoundPrimitives::Arguments arguments = {
        {DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
        {DNNL_ARG_WEIGHTS, weights_.memory()},
        {DNNL_ARG_DST, memory_at(pd_.dst_desc(), args.outputs[0].data)},
        {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}};
    // A bias that is absent has no memory.
    if (bias_.data.size() > 0) arguments.emplace_back(DNNL_ARG_BIAS, bias_.memory());
    auto bound = std::make_unique<BoundPrimitives>();
    bound->add(primitive_, std::move(arguments));
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  bool holds_input(size_t input) const override {
    return input == 1 || input == kConvTransposeBias;
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  deconvolution_forward::primitive_desc pd_;
  deconvolution_forward primitive_;
  PackedConstant weights_;
  PackedConstant bias_;
};

std::optional<NodeLayouts> layouts_conv_transpose(const NodeView& node,
                                                  std::span<const Layout> inputs) {
  const auto pd =
      describe_conv_transpose(node, any_desc(node.input_type(0)), any_desc(node.output_type(0)));
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = to_layout(pd.src_desc());
  wanted.outputs = {to_layout(pd.dst_desc())};
  return wanted;
}

std::unique_ptr<Kernel> create_conv_transpose(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<ConvTranspose>(node, layouts);
}

}  // namespace

extern const KernelDef kConvTranspose = {.op = "ConvTranspose",
                                         .library = "onednn",
                                         .refuses = refuses_conv_transpose,
                                         .layouts = layouts_conv_transpose,
                                         .create_in = create_conv_transpose};

}  // namespace trainyard::kernels::onednn
