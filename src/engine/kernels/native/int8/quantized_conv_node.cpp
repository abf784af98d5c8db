// QuantizedConv: convolutions of u8 by i8 with all that follows them.
#include <algorithm>
#include <optional>

#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_conv_node.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "ops/op_def.h"
#include "ops/quantize/quantized.h"

namespace trainyard::kernels::native {
namespace {

// The pointers are into the graph's constants, which the packing constructors copy; they do not
// outlive them.
ByteConvNumbers numbers_of(const NodeView& node) {
  return {.weights = node.input_constant(1)->values<int8_t>().data(),
          .bias = node.input_constant(ops::kQuantizedBias)->values<int32_t>().data(),
          .multiplier = node.input_constant(ops::kQuantizedMultiplier)->values<float>().data(),
          .x_zero = node.attr_int("x_zero", 0)};
}

// The vector kernels add in 32 bits without saturation, so weights that could overflow are left to
// the reference kernel.
std::string_view refuses_quantized_conv(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  for (const size_t i : {size_t{1}, ops::kQuantizedBias, ops::kQuantizedMultiplier}) {
    if (node.input_constant(i) == nullptr) return "the weights are not constant";
  }
  if (byte_conv_shape(node).taps() > ByteConv::kMostTaps) return "the window is too large";
  const Shape& w = node.input_shape(1);
  if (!ops::sums_fit(node.input_constant(1)->values<int8_t>(), w.num_elements(1, w.rank()),
                     node.input_constant(ops::kQuantizedBias)->values<int32_t>(),
                     node.input_constant(ops::kQuantizedMultiplier)->values<float>(),
                     node.attr_int("x_zero", 0))) {
    return "sums may be larger than 32 bits hold";
  }
  return "";
}

Finish finish_of(const NodeView& node) {
  const ops::StepsToBytes result = ops::result_bytes(node);
  const ops::StepsToBytes summed = ops::summed_bytes(node);
  return {.zero = static_cast<int32_t>(result.zero),
          .low = static_cast<int32_t>(result.low),
          .high = static_cast<int32_t>(result.high),
          .adds = node.has_input(ops::kQuantizedSum),
          .own_ratio = node.attr_float("own_ratio", 1.0F),
          .sum_ratio = node.attr_float("sum_ratio", 1.0F),
          .sum_zero = static_cast<int32_t>(node.attr_int("sum_zero", 0)),
          .out_zero = static_cast<int32_t>(summed.zero),
          .out_low = static_cast<int32_t>(summed.low),
          .out_high = static_cast<int32_t>(summed.high)};
}

// The depthwise kernel has neither an addition nor floats in its epilogue.
bool runs_depthwise(const NodeView& node) {
  return ByteDepthwise::takes(byte_conv_shape(node)) && !node.has_input(ops::kQuantizedSum) &&
         node.output_type(0).dtype == DType::kU8;
}

class QuantizedConvKernel final : public Kernel {
 public:
  QuantizedConvKernel(const NodeView& node, const NodeLayouts& layouts)
      : adds_(node.has_input(ops::kQuantizedSum)), real_block_(layouts.outputs[0].block_of(1)) {
    const ByteConvShape shape = byte_conv_shape(node);
    kind_ = shape.groups == 1 ? " " : runs_depthwise(node) ? " depthwise " : " grouped ";
    kind_ += std::to_string(shape.window_rows) + "x" + std::to_string(shape.window_columns);
    if (runs_depthwise(node)) {
      depthwise_.emplace(shape, numbers_of(node), finish_of(node), byte_kernels());
    } else {
      conv_.emplace(shape, numbers_of(node), finish_of(node), byte_kernels());
    }
  }

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const uint8_t>();
    if (depthwise_) return depthwise_->run(x, args.outputs[0].as<uint8_t>());
    const bool bytes = args.outputs[0].dtype == DType::kU8;
    conv_->run({.x = x,
                .added = adds_ ? args.inputs[ops::kQuantizedSum].as<const uint8_t>() : nullptr,
                .y = bytes ? args.outputs[0].as<uint8_t>() : nullptr,
                .reals = bytes ? nullptr : args.outputs[0].as<float>(),
                .real_block = real_block_,
                .scratch = args.scratch.data()});
  }
  int64_t scratch_bytes() const override { return conv_ ? conv_->scratch_bytes() : 0; }
  bool holds_input(size_t input) const override {
    return input >= 1 && input <= ops::kQuantizedMultiplier;
  }
  std::string detail() const override {
    return std::string(byte_kernels().name) + (conv_ && conv_->is_wide() ? " wide" : "") + kind_;
  }

 private:
  bool adds_;
  int64_t real_block_;
  std::string kind_;
  std::optional<ByteConv> conv_;
  std::optional<ByteDepthwise> depthwise_;
};

std::optional<NodeLayouts> layouts_quantized_conv(const NodeView& node,
                                                  std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = channels_last(node.input_shape(0));
  wanted.outputs = {channels_last(node.output_shape(0))};
  // With floats as the result, blocks of channels spare the next kernel a reordering.
  if (wants_blocks(node) &&
      ByteConv::writes_blocks(byte_conv_shape(node), channel_block(), byte_kernels())) {
    wanted.outputs = {Layout::channel_blocks(node.output_shape(0), channel_block())};
  }
  if (node.has_input(ops::kQuantizedSum)) wanted.inputs[ops::kQuantizedSum] = wanted.outputs[0];
  return wanted;
}

}  // namespace

extern const KernelDef kQuantizedConv = {
    .op = "QuantizedConv",
    .library = "native",
    .refuses = refuses_quantized_conv,
    .layouts = layouts_quantized_conv,
    .create_in = [](const NodeView& node, const NodeLayouts& layouts) -> std::unique_ptr<Kernel> {
      return std::make_unique<QuantizedConvKernel>(node, layouts);
    }};

}  // namespace trainyard::kernels::native
