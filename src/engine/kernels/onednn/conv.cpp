// Conv and FusedConv by oneDNN: any groups, strides and dilations, with the sum and the activation
// done on the way out.
#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/onednn/conv_desc.h"
#include "engine/kernels/onednn/layout_choice.h"
#include "ops/op_def.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::convolution_forward;
constexpr size_t kConvBias = 2;
constexpr size_t kSum = 3;

std::string_view refuses_conv(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const int64_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return "only one to three spatial dimensions are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
}

int64_t group_of(const NodeView& node) {
  return node.attr_int("group", 1);
}

// Weights that change between runs lie as the library wants them, where there is a layout for it.
bool takes_packed_weights(const NodeView& node) {
  return node.input_constant(1) == nullptr && shares_weight_layout(group_of(node));
}

// Batch 1 in the same blocks: how one image of a part of a larger buffer lies.
Desc image_desc(TensorType type, const Layout& layout) {
  type.shape[0] = 1;
  return to_desc(type, Layout::channel_blocks(type.shape, layout.block_of(1)));
}

bool is_part(const Shape& shape, const Layout& layout) {
  return layout.block_of(1) > 1 &&
         !same_placement(layout, Layout::channel_blocks(shape, layout.block_of(1)), shape);
}

// The library's fast kernels want dense batches, so parts are computed image by image.
struct Operands {
  Desc x;
  Desc y;
  int64_t calls = 1;
  int64_t x_stride = 0;  // bytes between images; 0 for one call
  int64_t y_stride = 0;
};

Operands operands(const NodeView& node, const NodeLayouts& layouts) {
  const TensorType& x = node.input_type(0);
  const TensorType& y = node.output_type(0);
  if (!is_part(x.shape, layouts.inputs[0]) && !is_part(y.shape, layouts.outputs[0])) {
    return {.x = to_desc(x, layouts.inputs[0]), .y = to_desc(y, layouts.outputs[0])};
  }
  const auto stride = [](const TensorType& type, const Layout& layout) {
    return layout.outer_strides(type.shape)[0] * dtype_size(type.dtype);
  };
  return {.x = image_desc(x, layouts.inputs[0]),
          .y = image_desc(y, layouts.outputs[0]),
          .calls = x.shape[0],
          .x_stride = stride(x, layouts.inputs[0]),
          .y_stride = stride(y, layouts.outputs[0])};
}

// The library's tanh is several times slower than the convolution of a small window, its swish as
// slow as one.
bool does_activation_itself(const NodeView& node) {
  const std::string activation = node.attr_text("activation", "");
  return (activation == "Tanh" || activation == "Swish") && native::cpu_has_avx2_fma();
}

convolution_forward::primitive_desc describe_conv(const NodeView& node, const Desc& x,
                                                  const Desc& w, const Desc& y) {
  const ConvWindow window(*ops::op_of(node).window(node));
  const Desc bias = node.has_input(kConvBias) ? to_desc(node.input_type(kConvBias)) : Desc();
  const convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, w, bias, y,
      window.strides, window.dilations, window.pads_begin, window.pads_end);
  dnnl::primitive_attr attr = user_scratch_attr();
  dnnl::post_ops ops;
  if (node.has_input(kSum)) ops.append_sum();
  const bool known =
      does_activation_itself(node) || append_activation(ops, node.attr_text("activation", ""),
                                                        node.attr_float("activation_alpha", 0.0F),
                                                        node.attr_float("activation_beta", 0.0F));
  TY_CHECK(known, "activation '{}' reached oneDNN", node.attr_text("activation", ""));
  attr.set_post_ops(ops);
  return for_channel_block(
      convolution_forward::primitive_desc(desc, attr, engine(), /*allow_empty=*/true));
}

Desc any_weights(const NodeView& node) {
  return any_desc(weight_dims(node.input_shape(1), group_of(node)));
}

// What follows the convolution.
struct OwnActivation {
  bool is_swish = false;
  float alpha = 0.0F;
};

// The convolution, then tanh or swish of each image (or of the whole batch).
class BoundWithActivation final : public BoundKernel {
 public:
  BoundWithActivation(std::unique_ptr<BoundKernel> conv, OwnActivation activation,
                      const TensorView& y, const Operands& operands)
      : conv_(std::move(conv)),
        activation_(activation),
        y_(y.as<std::byte>()),
        operands_(operands) {}

  void run() override {
    conv_->run();
    const auto count = static_cast<int64_t>(operands_.y.get_size() / sizeof(float));
    for (int64_t call = 0; call < operands_.calls; ++call) {
      auto* y = reinterpret_cast<float*>(y_ + call * operands_.y_stride);
      if (activation_.is_swish) {
        native::swish_of(y, count, activation_.alpha, y);
      } else {
        native::tanh_of(y, count, y);
      }
    }
  }

 private:
  std::unique_ptr<BoundKernel> conv_;
  OwnActivation activation_;
  std::byte* y_;
  const Operands& operands_;
};

class Conv final : public OnednnKernel {
 public:
  Conv(const NodeView& node, const NodeLayouts& layouts)
      : operands_(operands(node, layouts)),
        given_weights_(takes_packed_weights(node)
                           ? to_desc(node.input_type(1), layouts.inputs[1])
                           : plain_weights(node.input_shape(1), group_of(node))),
        pd_(describe_conv(node, operands_.x,
                          takes_packed_weights(node) ? given_weights_ : any_weights(node),
                          operands_.y)),
        primitive_(pd_) {
    if (const Tensor* weights = node.input_constant(1)) {
      weights_ = pack_constant(given_weights_, weights->data(), pd_.weights_desc());
      holds_weights_ = true;
    } else if (!takes_packed_weights(node)) {
      pack_ = dnnl::reorder(
          dnnl::reorder::primitive_desc(engine(), given_weights_, engine(), pd_.weights_desc()));
    }
    has_bias_ = node.has_input(kConvBias);
    if (does_activation_itself(node)) {
      own_activation_ = OwnActivation{.is_swish = node.attr_text("activation", "") == "Swish",
                                      .alpha = node.attr_float("activation_alpha", 0.0F)};
    }
    if (const Tensor* bias = node.input_constant(kConvBias)) {
      bias_ = pack_constant(pd_.bias_desc(), bias->data(), pd_.bias_desc());
    }
  }

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    std::byte* scratch = args.scratch.data();
    const dnnl::memory weights = weights_for(args, *bound);
    for (int64_t call = 0; call < operands_.calls; ++call) {
      std::byte* x = args.inputs[0].as<std::byte>() + call * operands_.x_stride;
      std::byte* y = args.outputs[0].as<std::byte>() + call * operands_.y_stride;
      BoundPrimitives::Arguments arguments = {
          {DNNL_ARG_SRC, memory_at(pd_.src_desc(), x)},
          {DNNL_ARG_WEIGHTS, weights},
          {DNNL_ARG_DST, memory_at(pd_.dst_desc(), y)},
          {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), scratch)}};
      if (has_bias_) {
        arguments.emplace_back(DNNL_ARG_BIAS,
                               holds_input(kConvBias)
                                   ? bias_.memory()
                                   : memory_at(pd_.bias_desc(), args.inputs[kConvBias].data));
      }
      bound->add(primitive_, std::move(arguments));
    }
    if (own_activation_) {
      return std::make_unique<BoundWithActivation>(std::move(bound), *own_activation_,
                                                   args.outputs[0], operands_);
    }
    return bound;
  }

  int64_t scratch_bytes() const override {
    return library_scratch() + (pack_ ? aligned_bytes(pd_.weights_desc().get_size()) : 0);
  }
  bool holds_input(size_t input) const override {
    return (input == kConvBias && bias_.data.size() > 0) || (input == 1 && holds_weights_);
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  int64_t library_scratch() const { return aligned_bytes(pd_.scratchpad_desc().get_size()); }

  // The weights as the primitive wants them, packed in scratch memory if need be.
  dnnl::memory weights_for(const KernelArgs& args, BoundPrimitives& bound) const {
    if (holds_weights_) return weights_.memory();
    dnnl::memory given = memory_at(given_weights_, args.inputs[1].data);
    if (!pack_) return given;
    dnnl::memory packed = memory_at(pd_.weights_desc(), args.scratch.data() + library_scratch());
    bound.add(pack_, {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, packed}});
    return packed;
  }

  Operands operands_;
  Desc given_weights_;
  convolution_forward::primitive_desc pd_;
  convolution_forward primitive_;
  bool holds_weights_ = false;
  bool has_bias_ = false;
  std::optional<OwnActivation> own_activation_;
  PackedConstant weights_;
  PackedConstant bias_;
  dnnl::reorder pack_;  // empty if the weights come as the library wants them
};

bool has_filter_per_channel(const NodeView& node) {
  const int64_t channels = node.input_shape(0)[1];
  return group_of(node) == channels && channels > 1 && channels == node.output_shape(0)[1];
}

// In blocks of channels, as the kernels of our own have them. Where the library likes channels last
// it is hardly faster so, and every kernel of ours before or behind would cost a reorder.
convolution_forward::primitive_desc describe_freely(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const TensorType& y = node.output_type(0);
  const bool wide = channel_block() == 16 && node.input_constant(1) != nullptr;
  if (wide || has_filter_per_channel(node)) {
    const auto blocked = [](const TensorType& type) {
      return to_desc(type, Layout::channel_blocks(type.shape, channel_block()));
    };
    const bool is_picture = x.shape[1] == 1 || x.shape[1] == 3;
    auto pd =
        describe_conv(node, is_picture ? to_desc(x) : blocked(x), any_weights(node), blocked(y));
    if (pd && is_fast(pd.impl_info_str())) return pd;
  }
  return describe_conv(node, any_desc(x), any_weights(node), any_desc(y));
}

std::optional<NodeLayouts> layouts_conv(const NodeView& node, std::span<const Layout> inputs) {
  const auto pd = describe_freely(node);
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = to_layout(pd.src_desc());
  if (takes_packed_weights(node)) wanted.inputs[1] = to_layout(pd.weights_desc());
  wanted.outputs = {to_layout(pd.dst_desc())};
  wanted.takes_parts = wanted.inputs[0].block_of(1) > 1 && wanted.outputs[0].block_of(1) > 1;
  if (node.has_input(kSum)) {
    wanted.inputs[kSum] = wanted.outputs[0];
    wanted.in_place_input = kSum;
    wanted.in_place_required = true;
  }
  return wanted;
}

std::unique_ptr<Kernel> create_conv(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Conv>(node, layouts);
}

constexpr KernelDef conv_kernel(std::string_view op) {
  return {.op = op,
          .library = "onednn",
          .refuses = refuses_conv,
          .layouts = layouts_conv,
          .create_in = create_conv};
}

}  // namespace

extern const KernelDef kConv = conv_kernel("Conv");
extern const KernelDef kFusedConv = conv_kernel("FusedConv");

}  // namespace trainyard::kernels::onednn
