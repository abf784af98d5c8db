// Resize of u8 images to whole multiples of their size by the nearest pixel, channels last.
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/parallel.h"
#include "ops/vision/resize.h"

namespace trainyard::kernels::native {
namespace {

// Under these, output position i shows input position i / factor.
bool repeats_pixels(const NodeView& node) {
  const std::string where = node.attr_text("coordinate_transformation_mode", "half_pixel");
  const std::string which = node.attr_text("nearest_mode", "round_prefer_floor");
  return (where == "half_pixel" && which == "round_prefer_floor") ||
         (where == "asymmetric" && which == "floor");
}

std::string_view refuses_byte_resize(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kU8) return "only u8 is implemented here";
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (node.attr_text("mode", "nearest") != "nearest" || !repeats_pixels(node)) {
    return "only the nearest pixel, counted from the corner, is implemented";
  }
  const std::optional<ops::ResizeSizes> sizes = ops::resize_sizes(node);
  if (!sizes) return "the sizes are not known before the run";
  for (int64_t d = 0; d < 4; ++d) {
    const auto factor =
        static_cast<double>(sizes->output[d]) / static_cast<double>(node.input_shape(0)[d]);
    const bool whole = sizes->output[d] % node.input_shape(0)[d] == 0;
    if (!whole || sizes->scales[static_cast<size_t>(d)] != factor || (d < 2 && factor != 1)) {
      return "only whole multiples of height and width are implemented";
    }
  }
  return "";
}

class ByteResize final : public Kernel {
 public:
  explicit ByteResize(const NodeView& node) : x_(node.input_shape(0)), y_(node.output_shape(0)) {}

  void run(const KernelArgs& args) const override {
    const int64_t channels = x_[1];
    const auto bytes = static_cast<size_t>(channels);
    const int64_t across = y_[3] / x_[3];
    const int64_t down = y_[2] / x_[2];
    parallel_for(y_[0] * y_[2], [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t from = row / y_[2] * x_[2] + row % y_[2] / down;
        const uint8_t* x = args.inputs[0].as<uint8_t>() + from * x_[3] * channels;
        uint8_t* y = args.outputs[0].as<uint8_t>() + row * y_[3] * channels;
        for (int64_t i = 0; i < y_[3]; ++i) {
          std::memcpy(y + i * channels, x + i / across * channels, bytes);
        }
      }
    });
  }

 private:
  Shape x_;
  Shape y_;
};

std::optional<NodeLayouts> layouts_byte_resize(const NodeView& node,
                                               std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = channels_last(node.input_shape(0));
  wanted.outputs = {channels_last(node.output_shape(0))};
  return wanted;
}

}  // namespace

extern const KernelDef kByteResize = {
    .op = "Resize",
    .library = "native",
    .refuses = refuses_byte_resize,
    .layouts = layouts_byte_resize,
    .create_in = [](const NodeView& node, const NodeLayouts&) -> std::unique_ptr<Kernel> {
      return std::make_unique<ByteResize>(node);
    }};

}  // namespace trainyard::kernels::native
