// Concat, Slice, Pad and Transpose.
#include <algorithm>

#include "engine/kernels/device/device_kernel.h"
#include "ops/layout/pad.h"
#include "ops/layout/slice.h"

namespace trainyard::kernels::on_device {
namespace {

constexpr int64_t kMostDims = 4;
using Ints = std::vector<int64_t>;

// Of each dimension of the result, from the first: where it begins in the input, how far apart its
// positions are there, how many there are, and how far neighbors lie apart in memory.
struct Walk {
  Ints begins;
  Ints steps;
  Ints sizes;
  Ints strides;
};

// To four dimensions, with `front` in front.
Ints to_four(Ints values, int64_t front) {
  values.insert(values.begin(), static_cast<size_t>(kMostDims) - values.size(), front);
  return values;
}

std::unique_ptr<Kernel> walk_kernel(const NodeView& node, Device& device, const Walk& walk,
                                    double fill) {
  const Shape& y = node.output_shape(0);
  const Ints dims = to_four(y.vector(), 1);
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("move", "move_strided", line_grid(y.num_elements())).input(0).output(0);
  kernel->integer(y.num_elements()).integers(std::span(dims).subspan(1));
  kernel->integers(to_four(walk.begins, 0)).integers(to_four(walk.steps, 1));
  kernel->integers(to_four(walk.sizes, 1)).integers(to_four(walk.strides, 0)).number(fill);
  return kernel;
}

std::string_view refuses_walk(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return node.input_shape(0).rank() > kMostDims ? "only four dimensions are implemented" : "";
}

std::string_view refuses_slice(const NodeView& node) {
  if (const std::string_view reason = refuses_walk(node); !reason.empty()) return reason;
  return ops::slice_ranges(node, node.input_shape(0)) ? "" : "the ranges are not known";
}

std::unique_ptr<Kernel> create_slice(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& x = node.input_shape(0);
  const auto ranges = *ops::slice_ranges(node, x);
  return walk_kernel(node, device, {ranges.starts, ranges.steps, x.vector(), x.strides()}, 0);
}

std::string_view refuses_pad(const NodeView& node) {
  if (const std::string_view reason = refuses_walk(node); !reason.empty()) return reason;
  if (node.attr_text("mode", "constant") != "constant") return "only constants are implemented";
  if (!node.input_ints(1)) return "the pads are not known before the run";
  if (node.has_input(2) && node.input_constant(2) == nullptr) return "the constant is not known";
  return node.has_input(3) && !node.input_ints(3) ? "the axes are not known before the run" : "";
}

std::unique_ptr<Kernel> create_pad(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& x = node.input_shape(0);
  Ints pads = *node.input_ints(1);
  if (node.has_input(3)) pads = ops::pads_of_all_axes(pads, *node.input_ints(3), x.rank());
  Ints begins(pads.begin(), pads.begin() + x.rank());
  for (int64_t& begin : begins) begin = -begin;
  const Ints steps(begins.size(), 1);
  const double fill = node.has_input(2) ? element_as_double(*node.input_constant(2), 0) : 0;
  return walk_kernel(node, device, {begins, steps, x.vector(), x.strides()}, fill);
}

std::unique_ptr<Kernel> create_transpose(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& x = node.input_shape(0);
  Ints order(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = x.rank() - 1 - static_cast<int64_t>(i);
  order = node.attr_ints("perm", order);
  const Ints x_strides = x.strides();
  Walk walk{Ints(order.size(), 0), Ints(order.size(), 1), {}, {}};
  for (const int64_t axis : order) {
    walk.sizes.push_back(x[axis]);
    walk.strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  return walk_kernel(node, device, walk, 0);
}

std::unique_ptr<Kernel> create_concat(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& y = node.output_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", 0), y.rank(), node.op());
  const int64_t width = y.num_elements(axis, y.rank());
  int64_t begin = 0;
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    const Shape& x = node.input_shape(i);
    const int64_t part = x.num_elements(axis, x.rank());
    if (x.num_elements() == 0) continue;
    kernel->launch("move", "move_rows", line_grid(x.num_elements())).input(i).output(0);
    kernel->integer(x.num_elements()).integer(part).integer(width).integer(begin);
    begin += part;
  }
  return kernel;
}

}  // namespace

extern const KernelDef kConcat = device_def("Concat", refuses_types, create_concat);
extern const KernelDef kPad = device_def("Pad", refuses_pad, create_pad);
extern const KernelDef kSlice = device_def("Slice", refuses_slice, create_slice);
extern const KernelDef kTranspose = device_def("Transpose", refuses_walk, create_transpose);

}  // namespace trainyard::kernels::on_device
