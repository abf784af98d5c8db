// Conv and FusedConv by Winograd's minimal filtering, where that is expected to beat the plain sum.
#include "base/error.h"
#include "kernels/kernel.h"
#include "kernels/native/cpu.h"
#include "kernels/native/winograd.h"
#include "kernels/parallel/parallel.h"
#include "ops/activation.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

constexpr size_t kBias = 2;
constexpr size_t kSum = 3;
constexpr int64_t kChannelBlock = 8;

WinogradShape winograd_shape(const NodeView& node) {
  const ops::Window window = *ops::op_of(node).window(node);
  const Shape& x = node.input_shape(0);
  return {.batch = x[0],
          .in_channels = x[1],
          .out_channels = node.input_shape(1)[0],
          .height = x[2],
          .width = x[3],
          .kernel = window.kernel[0],
          .pad_top = window.pads_begin[0],
          .pad_left = window.pads_begin[1],
          .pad_bottom = window.pads_end[0],
          .pad_right = window.pads_end[1]};
}

// Only activations that leave zero at zero, so that padding channels stay zero.
bool is_clamp(const ops::ActivationSpec& activation) {
  return activation.op.empty() || activation.op == "Relu" ||
         (activation.op == "Clip" && activation.alpha <= 0 && activation.beta >= 0);
}

Activation clamp_of(const ops::ActivationSpec& activation) {
  if (activation.op == "Relu") return kRelu;
  if (activation.op == "Clip") return {activation.alpha, activation.beta};
  return kIdentity;
}

std::string_view refuses(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return "only f32 is implemented";
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (node.input_constant(1) == nullptr) return "the weights are not constant";
  if (node.has_input(kBias) && node.input_constant(kBias) == nullptr) {
    return "the bias is not constant";
  }
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  const ops::Window window = *ops::op_of(node).window(node);
  if (window.strides != std::vector<int64_t>{1, 1} ||
      window.dilations != std::vector<int64_t>{1, 1} || window.kernel[0] != window.kernel[1] ||
      (window.kernel[0] != 3 && window.kernel[0] != 5)) {
    return "only windows of 3x3 and 5x5 with stride 1 are implemented";
  }
  if (!is_clamp(ops::activation_of(node))) return "the activation is not implemented";
  if (!winograd_pays(winograd_shape(node))) return "the plain sum is expected to be faster";
  return "";
}

const float* constant_data(const NodeView& node, size_t input) {
  const Tensor* tensor = node.input_constant(input);
  return tensor == nullptr ? nullptr : tensor->values<float>().data();
}

class WinogradKernel final : public Kernel {
 public:
  explicit WinogradKernel(const NodeView& node)
      : tile_(*winograd_pays(winograd_shape(node))),
        threads_(threads()),
        has_sum_(node.has_input(kSum)),
        conv_(winograd_shape(node), tile_, constant_data(node, 1), constant_data(node, kBias),
              clamp_of(ops::activation_of(node))) {}

  void run(const KernelArgs& args) const override {
    float* y = args.outputs[0].as<float>();
    conv_.run(args.inputs[0].as<float>(), has_sum_ ? args.inputs[kSum].as<float>() : nullptr, y,
              args.scratch.data(), threads_);
  }
  int64_t scratch_bytes() const override { return conv_.scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == kBias; }
  std::string detail() const override {
    const auto edge = static_cast<int>(tile_);
    return fmt::format("winograd {}x{}", edge, edge);
  }

 private:
  WinogradTile tile_;
  int threads_;
  bool has_sum_;
  WinogradConv conv_;
};

std::optional<NodeLayouts> layouts(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = Layout::channel_blocks(node.input_shape(0), kChannelBlock);
  wanted.outputs = {Layout::channel_blocks(node.output_shape(0), kChannelBlock)};
  if (node.has_input(kSum)) {
    wanted.inputs[kSum] = wanted.outputs[0];
    wanted.in_place_input = kSum;
  }
  return wanted;
}

std::unique_ptr<Kernel> create(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<WinogradKernel>(node);
}

constexpr KernelDef winograd_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses,
          .layouts = layouts,
          .create_in = create};
}

}  // namespace

extern const KernelDef kConv = winograd_kernel("Conv");
extern const KernelDef kFusedConv = winograd_kernel("FusedConv");

}  // namespace trainyard::kernels::native
