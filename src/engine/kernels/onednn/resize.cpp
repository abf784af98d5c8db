// Resize by oneDNN's resampling: linear between the centers of pixels, or nearest where each pixel
// becomes a whole number of them.
#include "ops/vision/resize.h"

#include <cmath>

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/primitive_kernel.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::resampling_forward;

// Both take the pixel that covers the center of the new one; on whole multiples all roundings
// agree.
bool is_plain_nearest(const NodeView& node, const ops::ResizeSizes& sizes) {
  const std::string coordinates = node.attr_text("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = node.attr_text("nearest_mode", "round_prefer_floor");
  const bool from_centers = coordinates == "half_pixel" && rounding.starts_with("round");
  const bool from_corners = coordinates == "asymmetric" && rounding == "floor";
  const auto is_whole = [](double scale) { return scale >= 1 && scale == std::floor(scale); };
  return (from_centers || from_corners) &&
         std::all_of(sizes.scales.begin(), sizes.scales.end(), is_whole);
}

bool is_plain_linear(const NodeView& node, const ops::ResizeSizes& sizes) {
  const Shape& x = node.input_shape(0);
  // The library maps by sizes, ONNX by scales, which need not give whole sizes.
  for (int64_t d = 0; d < x.rank(); ++d) {
    const auto whole = static_cast<double>(sizes.output[d]);
    if (std::fabs(sizes.lengths[static_cast<size_t>(d)] - whole) > 1e-6 * whole) return false;
  }
  return node.attr_text("coordinate_transformation_mode", "half_pixel") == "half_pixel" &&
         node.attr_int("exclude_outside", 0) == 0;
}

std::string_view refuses_resize(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  if (x.dtype != DType::kF32) return kOnlyF32;
  if (node.attr_int("antialias", 0) != 0 ||
      node.attr_text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return "antialiasing and kept ratios are not implemented";
  }
  if (x.shape.rank() < 3 || x.shape.rank() > 5) {
    return "only one to three spatial dimensions are implemented";
  }
  if (x.shape.num_elements() == 0 || node.output_shape(0).num_elements() == 0) {
    return "a tensor is empty";
  }
  const auto sizes = ops::resize_sizes(node);
  if (!sizes || sizes->output[0] != x.shape[0] || sizes->output[1] != x.shape[1]) {
    return "only spatial dimensions may change";
  }
  const std::string mode = node.attr_text("mode", "nearest");
  if (mode == "nearest" && is_plain_nearest(node, *sizes)) return "";
  if (mode == "linear" && is_plain_linear(node, *sizes)) return "";
  return "the library has no such mapping of coordinates";
}

resampling_forward::primitive_desc describe_resize(const NodeView& node, const Layout& x) {
  const auto algorithm = node.attr_text("mode", "nearest") == "nearest"
                             ? dnnl::algorithm::resampling_nearest
                             : dnnl::algorithm::resampling_linear;
  const resampling_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm,
                                      to_desc(node.input_type(0), x),
                                      any_desc(node.output_type(0)));
  return {desc, user_scratch_attr(), engine(), /*allow_empty=*/true};
}

// In the blocks the input comes in.
std::optional<NodeLayouts> layouts_resize(const NodeView& node, std::span<const Layout> inputs) {
  const Shape& x = node.input_shape(0);
  const int64_t block = inputs[0].block_of(1);
  const Layout own = block > 1 ? Layout::channel_blocks(x, block) : Layout();
  const auto pd = describe_resize(node, own);
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.inputs[0] = own;
  wanted.outputs = {to_layout(pd.dst_desc())};
  return wanted;
}

std::unique_ptr<Kernel> create_resize(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PrimitiveKernel<resampling_forward>>(
      describe_resize(node, layouts.inputs[0]));
}

}  // namespace

extern const KernelDef kResize = {.op = "Resize",
                                  .library = "onednn",
                                  .refuses = refuses_resize,
                                  .layouts = layouts_resize,
                                  .create_in = create_resize};

}  // namespace trainyard::kernels::onednn
