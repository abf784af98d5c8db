// Conv and FusedConv by Winograd's minimal filtering, where that is expected to beat the plain sum.
#include "base/error.h"
#include "engine/kernels/native/conv/conv_node.h"
#include "engine/kernels/native/conv/winograd_node.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

int64_t groups_of(const NodeView& node) {
  return node.attr_int("group", 1);
}

std::string_view refuses_winograd_conv(const NodeView& node) {
  if (const std::string_view why = refuses_conv(node); !why.empty()) return why;
  const int64_t groups = groups_of(node);
  if (groups > 1 && (node.input_shape(0)[1] / groups % channel_block() != 0 ||
                     node.input_shape(1)[0] / groups % channel_block() != 0)) {
    return "groups that do not fill blocks of channels are not implemented";
  }
  if (!is_winograd_window(*ops::op_of(node).window(node))) return kNotWinogradWindow;
  if (!winograd_pays(forward_shape(node))) return "the plain sum is expected to be faster";
  return "";
}

// Weights that executables of several batches share are transformed for one tile: those of 7x7
// pictures and 512 channels take 18 MB with 2x2 tiles and 38 MB more if large batches have 4x4.
WinogradTile tile_of(WinogradShape shape) {
  if (SharedBuffers::active()) shape.batch = 1;
  const WinogradTile tile = *winograd_pays(shape);
  return SharedBuffers::compact() ? compact_tile(shape, tile) : tile;
}

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(const NodeView& node, const NodeLayouts& layouts)
      : shape_(forward_shape(node)),
        tile_(tile_of(shape_)),
        threads_(threads()),
        has_sum_(node.has_input(kConvSum)) {
    shape_.src_image_stride = layouts.inputs[0].strides()[0];
    shape_.dst_image_stride = layouts.outputs[0].strides()[0];
    shape_.block = layouts.outputs[0].block_of(1);
    const float* weights = constant_floats(node, 1);
    const float* bias = constant_floats(node, kConvBias);
    const int64_t filter = shape_.in_channels * shape_.kernel * shape_.kernel;
    for (int64_t group = 0; group < groups_of(node); ++group) {
      const int64_t first = group * shape_.out_channels;
      groups_.emplace_back(shape_, tile_, weights + first * filter,
                           bias == nullptr ? nullptr : bias + first, range_activation(node));
    }
  }

  void run(const KernelArgs& args) const override {
    const float* x = args.inputs[0].as<float>();
    const float* sum = has_sum_ ? args.inputs[kConvSum].as<float>() : nullptr;
    float* y = args.outputs[0].as<float>();
    for (const WinogradConv& group : groups_) {
      group.run(x, sum, y, args.scratch.data(), threads_);
      x += shape_.in_channels * shape_.height * shape_.width;
      y += shape_.out_channels * shape_.out_height() * shape_.out_width();
      if (sum != nullptr) sum += shape_.out_channels * shape_.out_height() * shape_.out_width();
    }
  }
  int64_t scratch_bytes() const override { return groups_[0].scratch_bytes(threads_); }
  bool holds_input(size_t input) const override { return input == 1 || input == kConvBias; }
  std::string detail() const override {
    const auto edge = static_cast<int>(tile_);
    return fmt::format("winograd {}x{}", edge, edge);
  }

 private:
  WinogradShape shape_;
  WinogradTile tile_;
  int threads_;
  bool has_sum_;
  std::vector<WinogradConv> groups_;
};

std::optional<NodeLayouts> layouts_winograd_conv(const NodeView& node,
                                                 std::span<const Layout> inputs) {
  NodeLayouts wanted = conv_layouts(node, inputs.size(), /*blocked_input=*/true, channel_block());
  // The added tensor is read with the result's strides.
  wanted.takes_parts = !node.has_input(kConvSum);
  return wanted;
}

std::unique_ptr<Kernel> create_winograd_conv(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<WinogradKernel>(node, layouts);
}

constexpr KernelDef winograd_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_winograd_conv,
          .layouts = layouts_winograd_conv,
          .create_in = create_winograd_conv};
}

}  // namespace

extern const KernelDef kConv = winograd_kernel("Conv");
extern const KernelDef kFusedConv = winograd_kernel("FusedConv");

}  // namespace trainyard::kernels::native
