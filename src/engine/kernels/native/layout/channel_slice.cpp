// Slice of channels on data in blocks of eight channels, beginning at a block: what the gradient of
// a concatenation is.
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/layout/slice.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kSliceBlock = 8;

std::string_view refuses_channel_slice(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (x.rank() < 3) return "data without positions are not implemented";
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  const auto ranges = ops::slice_ranges(node, x);
  if (!ranges) return "the ranges are not known before the run";
  for (int64_t i = 0; i < x.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (i != 1 && (ranges->counts[at] != x[i] || ranges->steps[at] != 1)) {
      return "only slices of channels are implemented";
    }
  }
  if (ranges->steps[1] != 1) return "steps are not implemented";
  if (ranges->starts[1] % kSliceBlock != 0) return "it does not begin at a block of channels";
  return "";
}

class ChannelSlice final : public Kernel {
 public:
  ChannelSlice(const NodeView& node, const NodeLayouts& layouts)
      : first_plane_(ops::slice_ranges(node, node.input_shape(0))->starts[1] / kSliceBlock),
        lanes_(node.output_shape(0)[1] % kSliceBlock),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.output_shape(0), layouts.outputs[0])) {}

  void run(const KernelArgs& args) const override {
    parallel_for(y_.images * y_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / y_.planes;
        const int64_t plane = i % y_.planes;
        const float* x = args.inputs[0].as<float>() + image * x_.image_stride +
                         (first_plane_ + plane) * x_.plane_elements();
        float* y =
            args.outputs[0].as<float>() + image * y_.image_stride + plane * y_.plane_elements();
        if (lanes_ == 0 || plane + 1 < y_.planes) {
          std::memcpy(y, x, static_cast<size_t>(y_.plane_elements()) * sizeof(float));
        } else {
          copy_lanes(x, y);
        }
      }
    });
  }

 private:
  // The last block, whose other channels are padding here.
  void copy_lanes(const float* x, float* y) const {
    for (int64_t at = 0; at < y_.plane_elements(); at += kSliceBlock) {
      for (int64_t lane = 0; lane < kSliceBlock; ++lane) {
        y[at + lane] = lane < lanes_ ? x[at + lane] : 0.0F;
      }
    }
  }

  int64_t first_plane_;
  int64_t lanes_;  // of the last block; 0: all
  Planes x_;
  Planes y_;
};

std::optional<NodeLayouts> layouts_channel_slice(const NodeView& node,
                                                 std::span<const Layout> inputs) {
  const Shape& x = node.input_shape(0);
  if (!has_planes(x, inputs[0]) || inputs[0].block_of(1) != kSliceBlock) return std::nullopt;
  NodeLayouts wanted{.inputs = {Layout::channel_blocks(x, kSliceBlock)},
                     .outputs = {Layout::channel_blocks(node.output_shape(0), kSliceBlock)},
                     .takes_parts = true};
  wanted.inputs.resize(node.num_inputs());
  return wanted;
}

std::unique_ptr<Kernel> create_channel_slice(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<ChannelSlice>(node, layouts);
}

}  // namespace

extern const KernelDef kChannelSlice = {.op = "Slice",
                                        .library = "native",
                                        .refuses = refuses_channel_slice,
                                        .layouts = layouts_channel_slice,
                                        .create_in = create_channel_slice};

}  // namespace trainyard::kernels::native
