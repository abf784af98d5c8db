// Slice with steps, its gradient, and Pad with zeros, on images in blocks of eight or sixteen
// channels: a box of whole blocks copied from one tensor to another.
#include <algorithm>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/layout/slice.h"

namespace trainyard::kernels::native {
namespace {

// Along one axis: where the box begins and how far apart its elements are.
struct Axis {
  int64_t start = 0;
  int64_t step = 1;
};

// In one of the two tensors.
struct Side {
  int64_t block = 0;   // channels
  int64_t planes = 0;  // blocks of channels
  int64_t height = 0;
  int64_t width = 0;
  Axis plane, row, column;

  Side(const Shape& shape, int64_t channels)
      : block(channels),
        planes((shape[1] + channels - 1) / channels),
        height(shape[2]),
        width(shape[3]) {}

  int64_t plane_floats() const { return height * width * block; }
};

struct Box {
  int64_t planes = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

class RegionCopy final : public Kernel {
 public:
  RegionCopy(int64_t batch, const Side& from, const Side& to, const Box& box)
      : batch_(batch), from_(from), to_(to), box_(box) {}

  void run(const KernelArgs& args) const override {
    const bool covers =
        box_.planes == to_.planes && box_.rows == to_.height && box_.columns == to_.width;
    parallel_for(batch_ * to_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* to = args.outputs[0].as<float>() + i * to_.plane_floats();
        if (!covers) std::memset(to, 0, static_cast<size_t>(to_.plane_floats()) * sizeof(float));
        const int64_t plane = i % to_.planes - to_.plane.start;
        if (plane < 0 || plane >= box_.planes) continue;
        const int64_t source = i / to_.planes * from_.planes + from_.plane.start + plane;
        copy_plane(args.inputs[0].as<float>() + source * from_.plane_floats(), to);
      }
    });
  }

 private:
  static float* at(const Side& side, float* plane, int64_t row) {
    return plane +
           ((side.row.start + row * side.row.step) * side.width + side.column.start) * side.block;
  }

  void copy_plane(float* from_plane, float* to_plane) const {
    const int64_t from_step = from_.column.step * from_.block;
    const int64_t to_step = to_.column.step * to_.block;
    const auto block_bytes = static_cast<size_t>(to_.block) * sizeof(float);
    for (int64_t row = 0; row < box_.rows; ++row) {
      const float* from = at(from_, from_plane, row);
      float* to = at(to_, to_plane, row);
      for (int64_t i = 0; i < box_.columns; ++i, from += from_step, to += to_step) {
        std::memcpy(to, from, block_bytes);
      }
    }
  }

  int64_t batch_;
  Side from_;
  Side to_;
  Box box_;
};

std::string_view refuses_images(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  return "";
}

std::optional<NodeLayouts> layouts_block_region(const NodeView& node,
                                                std::span<const Layout> inputs) {
  const int64_t block = inputs[0].block_of(1);
  if (block != kBlock && block != 2 * kBlock) return std::nullopt;
  NodeLayouts wanted{.inputs = {Layout::channel_blocks(node.input_shape(0), block)},
                     .outputs = {Layout::channel_blocks(node.output_shape(0), block)}};
  wanted.inputs.resize(node.num_inputs());
  return wanted;
}

// --- Slice and SliceGrad

// Of the larger tensor x.
std::string_view refuses_ranges(const NodeView& node, const Shape& x) {
  const auto ranges = ops::slice_ranges(node, x);
  if (!ranges) return "the ranges are not known before the run";
  for (size_t i = 0; i < 2; ++i) {
    if (ranges->counts[i] != x[static_cast<int64_t>(i)] || ranges->steps[i] != 1) {
      return "only slices of positions are implemented";
    }
  }
  return "";
}

void place(const ops::SliceRanges& ranges, Side& side) {
  side.row = {ranges.starts[2], ranges.steps[2]};
  side.column = {ranges.starts[3], ranges.steps[3]};
}

Box box_of(const Side& small) {
  return {small.planes, small.height, small.width};
}

std::string_view refuses_slice(const NodeView& node) {
  if (const std::string_view why = refuses_images(node); !why.empty()) return why;
  return refuses_ranges(node, node.input_shape(0));
}

std::unique_ptr<Kernel> create_slice(const NodeView& node, const NodeLayouts& layouts) {
  Side from(node.input_shape(0), layouts.inputs[0].block_of(1));
  const Side to(node.output_shape(0), layouts.inputs[0].block_of(1));
  place(*ops::slice_ranges(node, node.input_shape(0)), from);
  return std::make_unique<RegionCopy>(node.input_shape(0)[0], from, to, box_of(to));
}

std::string_view refuses_slice_gradient(const NodeView& node) {
  if (const std::string_view why = refuses_images(node); !why.empty()) return why;
  return refuses_ranges(node, node.output_shape(0));
}

std::unique_ptr<Kernel> create_slice_gradient(const NodeView& node, const NodeLayouts& layouts) {
  const Side from(node.input_shape(0), layouts.inputs[0].block_of(1));
  Side to(node.output_shape(0), layouts.inputs[0].block_of(1));
  place(*ops::slice_ranges(node, node.output_shape(0)), to);
  return std::make_unique<RegionCopy>(node.input_shape(0)[0], from, to, box_of(from));
}

// --- Pad

std::string_view refuses_pad(const NodeView& node) {
  if (const std::string_view why = refuses_images(node); !why.empty()) return why;
  if (node.attr_text("mode", "constant") != "constant") return "only zeros are implemented";
  if (node.has_input(2)) {
    const Tensor* value = node.input_constant(2);
    if (value == nullptr || element_as_double(*value, 0) != 0) return "only zeros are implemented";
  }
  const auto pads = node.input_ints(1);
  if (!pads) return "the pads are not known before the run";
  if (node.has_input(3)) return "padding of chosen axes is not implemented";
  if ((*pads)[0] != 0 || (*pads)[4] != 0) return "padding the batch is not implemented";
  return "";
}

// Channels that come or go have to fill blocks.
std::optional<NodeLayouts> layouts_pad(const NodeView& node, std::span<const Layout> inputs) {
  const std::vector<int64_t> pads = *node.input_ints(1);
  const int64_t block = inputs[0].block_of(1);
  if ((pads[1] != 0 || pads[5] != 0) &&
      (pads[1] % block != 0 || node.input_shape(0)[1] % block != 0 ||
       node.output_shape(0)[1] % block != 0)) {
    return std::nullopt;
  }
  return layouts_block_region(node, inputs);
}

// Negative pads crop. Returns how much there is to copy.
int64_t place_padded(int64_t pad, int64_t from_size, int64_t to_size, Axis& from, Axis& to) {
  from.start = std::max<int64_t>(-pad, 0);
  to.start = std::max<int64_t>(pad, 0);
  return std::max<int64_t>(std::min(from_size - from.start, to_size - to.start), 0);
}

std::unique_ptr<Kernel> create_pad(const NodeView& node, const NodeLayouts& layouts) {
  const std::vector<int64_t> pads = *node.input_ints(1);
  Side from(node.input_shape(0), layouts.inputs[0].block_of(1));
  Side to(node.output_shape(0), layouts.inputs[0].block_of(1));
  Box box;
  box.planes = place_padded(pads[1] / from.block, from.planes, to.planes, from.plane, to.plane);
  box.rows = place_padded(pads[2], from.height, to.height, from.row, to.row);
  box.columns = place_padded(pads[3], from.width, to.width, from.column, to.column);
  return std::make_unique<RegionCopy>(node.input_shape(0)[0], from, to, box);
}

}  // namespace

extern const KernelDef kPad = {.op = "Pad",
                               .library = "native",
                               .refuses = refuses_pad,
                               .layouts = layouts_pad,
                               .create_in = create_pad};
extern const KernelDef kPositionSlice = {.op = "Slice",
                                         .library = "native",
                                         .refuses = refuses_slice,
                                         .layouts = layouts_block_region,
                                         .create_in = create_slice};
extern const KernelDef kPositionSliceGrad = {.op = "SliceGrad",
                                             .library = "native",
                                             .refuses = refuses_slice_gradient,
                                             .layouts = layouts_block_region,
                                             .create_in = create_slice_gradient};

}  // namespace trainyard::kernels::native
