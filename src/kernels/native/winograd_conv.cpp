// Conv and FusedConv by Winograd's minimal filtering, where that is expected to beat the plain sum.
#include "base/error.h"
#include "kernels/native/conv_node.h"
#include "kernels/native/winograd.h"
#include "kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

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

std::string_view refuses(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  if (node.attr_int("group", 1) != 1) return "groups are not implemented";
  const ops::Window window = *ops::op_of(node).window(node);
  if (window.strides != std::vector<int64_t>{1, 1} ||
      window.dilations != std::vector<int64_t>{1, 1} || window.kernel[0] != window.kernel[1] ||
      (window.kernel[0] != 3 && window.kernel[0] != 5)) {
    return "only windows of 3x3 and 5x5 with stride 1 are implemented";
  }
  if (!winograd_pays(winograd_shape(node))) return "the plain sum is expected to be faster";
  return "";
}

class WinogradKernel final : public Kernel {
 public:
  explicit WinogradKernel(const NodeView& node)
      : tile_(*winograd_pays(winograd_shape(node))),
        threads_(threads()),
        has_sum_(node.has_input(kConvSum)),
        conv_(winograd_shape(node), tile_, constant_floats(node, 1),
              constant_floats(node, kConvBias), range_activation(node)) {}

  void run(const KernelArgs& args) const override {
    float* y = args.outputs[0].as<float>();
    conv_.run(args.inputs[0].as<float>(), has_sum_ ? args.inputs[kConvSum].as<float>() : nullptr, y,
              args.scratch.data(), threads_);
  }
  int64_t scratch_bytes() const override { return conv_.scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
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
  return conv_layouts(node, inputs.size(), /*blocked_input=*/true);
}

std::unique_ptr<Kernel> create(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<WinogradKernel>(node);
}

constexpr KernelDef winograd_kernel(std::string_view op) {
  return {
      .op = op, .library = "native", .refuses = refuses, .layouts = layouts, .create_in = create};
}

}  // namespace

extern const KernelDef kConv = winograd_kernel("Conv");
extern const KernelDef kFusedConv = winograd_kernel("FusedConv");

}  // namespace trainyard::kernels::native
