// ConvGradInput and ConvGradWeight by oneDNN: any groups, strides and dilations.
#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/conv_desc.h"
#include "engine/kernels/onednn/layout_choice.h"
#include "ops/nn/conv.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
// The convolution a gradient belongs to.
struct ConvOf {
  TensorType x;
  TensorType w;
  TensorType y;
  int64_t group;
  ConvWindow window;

  // The node has two of the three types as inputs and the third as its output.
  ConvOf(const NodeView& node, TensorType x_type, TensorType w_type, TensorType y_type)
      : x(std::move(x_type)),
        w(std::move(w_type)),
        y(std::move(y_type)),
        group(node.attr_int("group", 1)),
        window(ops::conv_window(node, x.shape, w.shape)) {}

  Desc any_weights() const { return any_desc(weight_dims(w.shape, group)); }
};

ConvOf conv_of_input_gradient(const NodeView& node) {
  return {node, node.output_type(0), node.input_type(1), node.input_type(0)};
}

ConvOf conv_of_weight_gradient(const NodeView& node) {
  return {node, node.input_type(0), node.output_type(0), node.input_type(1)};
}

std::string_view refuses_conv_grad(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const int64_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return "only one to three spatial dimensions are implemented";
  for (size_t i = 0; i < 2; ++i) {
    if (node.input_shape(i).num_elements() == 0) return "an input is empty";
  }
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
}

// The library asks for the forward convolution that a gradient belongs to.
convolution_forward::primitive_desc forward_hint(const ConvOf& conv, const Desc& x, const Desc& w,
                                                 const Desc& y) {
  return {
      {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, w, y,
       conv.window.strides, conv.window.dilations, conv.window.pads_begin, conv.window.pads_end},
      engine(),
      /*allow_empty=*/true};
}

template <typename Backward>
typename Backward::primitive_desc describe_conv_grad(const ConvOf& conv, const Desc& x,
                                                     const Desc& w, const Desc& y) {
  const auto hint = forward_hint(conv, x, w, y);
  if (!hint) return {};
  const typename Backward::desc desc(dnnl::algorithm::convolution_direct, x, w, y,
                                     conv.window.strides, conv.window.dilations,
                                     conv.window.pads_begin, conv.window.pads_end);
  // Scratch memory comes from the executable's plan, not from the library, which would allocate in
  // each run.
  return for_channel_block(typename Backward::primitive_desc(desc, user_scratch_attr(), engine(),
                                                             hint, /*allow_empty=*/true));
}

class ConvGradInput final : public OnednnKernel {
 public:
  ConvGradInput(const NodeView& node, const NodeLayouts& layouts) {
    const ConvOf conv = conv_of_input_gradient(node);
    // With groups the layout cannot be agreed on outside, so weights are repacked in each run.
    const bool shared = shares_weight_layout(conv.group);
    given_weights_ =
        shared ? to_desc(conv.w, layouts.inputs[1]) : plain_weights(conv.w.shape, conv.group);
    pd_ = describe_conv_grad<convolution_backward_data>(
        conv, to_desc(conv.x, layouts.outputs[0]), shared ? given_weights_ : conv.any_weights(),
        to_desc(conv.y, layouts.inputs[0]));
    TY_CHECK(pd_, "oneDNN has no ConvGradInput for '{}'", node.name());
    primitive_ = convolution_backward_data(pd_);
    if (!shared) {
      pack_ = dnnl::reorder(
          dnnl::reorder::primitive_desc(engine(), given_weights_, engine(), pd_.weights_desc()));
    }
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    // Memory handles are made once, for the addresses of a context.
    dnnl::memory weights = memory_at(given_weights_, args.inputs[1].data);
    if (pack_) {
      const dnnl::memory given = weights;
      // Behind the library's own scratch.
      weights = memory_at(pd_.weights_desc(), args.scratch.data() + library_scratch());
      bound->add(pack_, {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, weights}});
    }
    bound->add(primitive_,
               {{DNNL_ARG_DIFF_DST, memory_at(pd_.diff_dst_desc(), args.inputs[0].data)},
                {DNNL_ARG_WEIGHTS, weights},
                {DNNL_ARG_DIFF_SRC, memory_at(pd_.diff_src_desc(), args.outputs[0].data)},
                {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}});
    return bound;
  }
  int64_t scratch_bytes() const override {
    return library_scratch() + (pack_ ? aligned_bytes(pd_.weights_desc().get_size()) : 0);
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  int64_t library_scratch() const { return aligned_bytes(pd_.scratchpad_desc().get_size()); }

  convolution_backward_data::primitive_desc pd_;
  convolution_backward_data primitive_;
  Desc given_weights_;
  dnnl::reorder pack_;  // empty if the weights come as the library wants them
};

class ConvGradWeight final : public OnednnKernel {
 public:
  ConvGradWeight(const NodeView& node, const NodeLayouts& layouts) {
    const ConvOf conv = conv_of_weight_gradient(node);
    const bool shared = shares_weight_layout(conv.group);
    wanted_weights_ =
        shared ? to_desc(conv.w, layouts.outputs[0]) : plain_weights(conv.w.shape, conv.group);
    pd_ = describe_conv_grad<convolution_backward_weights>(
        conv, to_desc(conv.x, layouts.inputs[0]), shared ? wanted_weights_ : conv.any_weights(),
        to_desc(conv.y, layouts.inputs[1]));
    TY_CHECK(pd_, "oneDNN has no ConvGradWeight for '{}'", node.name());
    primitive_ = convolution_backward_weights(pd_);
    if (!shared) {
      unpack_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine(), pd_.diff_weights_desc(),
                                                            engine(), wanted_weights_));
    }
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    const dnnl::memory wanted = memory_at(wanted_weights_, args.outputs[0].data);
    const dnnl::memory computed =
        unpack_ ? memory_at(pd_.diff_weights_desc(), args.scratch.data() + library_scratch())
                : wanted;
    bound->add(primitive_,
               {{DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
                {DNNL_ARG_DIFF_DST, memory_at(pd_.diff_dst_desc(), args.inputs[1].data)},
                {DNNL_ARG_DIFF_WEIGHTS, computed},
                {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}});
    if (unpack_) bound->add(unpack_, {{DNNL_ARG_FROM, computed}, {DNNL_ARG_TO, wanted}});
    return bound;
  }
  int64_t scratch_bytes() const override {
    return library_scratch() + (unpack_ ? aligned_bytes(pd_.diff_weights_desc().get_size()) : 0);
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  int64_t library_scratch() const { return aligned_bytes(pd_.scratchpad_desc().get_size()); }

  convolution_backward_weights::primitive_desc pd_;
  convolution_backward_weights primitive_;
  Desc wanted_weights_;
  dnnl::reorder unpack_;  // empty if the gradient goes out as the library makes it
};

std::optional<NodeLayouts> input_gradient_layouts(const NodeView& node,
                                                  std::span<const Layout> inputs) {
  const ConvOf conv = conv_of_input_gradient(node);
  const auto pd = describe_conv_grad<convolution_backward_data>(
      conv, any_desc(conv.x), conv.any_weights(), any_desc(conv.y));
  // Slow reference implementations of the library are no reason to ask for its layouts.
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = to_layout(pd.diff_dst_desc());
  if (shares_weight_layout(conv.group)) wanted.inputs[1] = to_layout(pd.weights_desc());
  wanted.outputs = {to_layout(pd.diff_src_desc())};
  return wanted;
}

std::optional<NodeLayouts> weight_gradient_layouts(const NodeView& node,
                                                   std::span<const Layout> inputs) {
  const ConvOf conv = conv_of_weight_gradient(node);
  const auto pd = describe_conv_grad<convolution_backward_weights>(
      conv, any_desc(conv.x), conv.any_weights(), any_desc(conv.y));
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = to_layout(pd.src_desc());
  wanted.inputs[1] = to_layout(pd.diff_dst_desc());
  wanted.outputs.resize(1);
  if (shares_weight_layout(conv.group)) wanted.outputs[0] = to_layout(pd.diff_weights_desc());
  return wanted;
}

template <typename K>
std::unique_ptr<Kernel> create_conv_grad(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<K>(node, layouts);
}

}  // namespace

extern const KernelDef kConvGradInput = {.op = "ConvGradInput",
                                         .library = "onednn",
                                         .refuses = refuses_conv_grad,
                                         .layouts = input_gradient_layouts,
                                         .create_in = create_conv_grad<ConvGradInput>};
extern const KernelDef kConvGradWeight = {.op = "ConvGradWeight",
                                          .library = "onednn",
                                          .refuses = refuses_conv_grad,
                                          .layouts = weight_gradient_layouts,
                                          .create_in = create_conv_grad<ConvGradWeight>};

}  // namespace trainyard::kernels::onednn
