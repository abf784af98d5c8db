// Transpose of images in blocks of channels to channels last, as the heads of detectors end: in one
// pass, where a kernel for row-major data would first need them without blocks.
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_channels_last(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  const std::vector<int64_t> last = {0, 2, 3, 1};
  if (node.attr_ints("perm", {}) != last) return "another order than channels last";
  return "";
}

class ChannelsLast final : public Kernel {
 public:
  ChannelsLast(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0)[1]), x_(planes_of(node.input_shape(0), layouts.inputs[0])) {}

  void run(const KernelArgs& args) const override {
    parallel_for(x_.images * x_.positions, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / x_.positions;
        const int64_t position = i % x_.positions;
        copy_position(args.inputs[0].as<float>() + image * x_.image_stride + position * x_.block,
                      args.outputs[0].as<float>() + i * channels_);
      }
    });
  }
  std::string detail() const override { return "channels last"; }

 private:
  void copy_position(const float* x, float* y) const {
    int64_t channel = 0;
    for (; channel + x_.block <= channels_; channel += x_.block, x += x_.plane_elements()) {
      std::memcpy(y + channel, x, static_cast<size_t>(x_.block) * sizeof(float));
    }
    std::memcpy(y + channel, x, static_cast<size_t>(channels_ - channel) * sizeof(float));
  }

  int64_t channels_;
  Planes x_;
};

std::optional<NodeLayouts> layouts_channels_last(const NodeView& node,
                                                 std::span<const Layout> inputs) {
  const Shape& x = node.input_shape(0);
  const int64_t block = inputs[0].block_of(1);
  if (!has_planes(x, inputs[0]) || block == 1) return std::nullopt;
  return NodeLayouts{
      .inputs = {Layout::channel_blocks(x, block)}, .outputs = {Layout()}, .takes_parts = false};
}

std::unique_ptr<Kernel> create_channels_last(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<ChannelsLast>(node, layouts);
}

}  // namespace

extern const KernelDef kChannelsLast = {.op = "Transpose",
                                        .library = "native",
                                        .refuses = refuses_channels_last,
                                        .layouts = layouts_channels_last,
                                        .create_in = create_channels_last};

}  // namespace trainyard::kernels::native
