// MaxPool, AveragePool and their global forms by oneDNN.
#include "base/error.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/onednn/layout_choice.h"
#include "engine/kernels/onednn/primitive_kernel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::onednn {
namespace {

using dnnl::pooling_forward;
std::string_view refuses_pool(const NodeView& node) {
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const int64_t rank = node.input_shape(0).rank();
  if (rank < 3 || rank > 5) return "only one to three spatial dimensions are implemented";
  // Padding alone makes a result too.
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (node.has_output(1)) return "the positions of the maxima are not given";
  const ops::Window window = *ops::op_of(node).window(node);
  for (size_t i = 0; i < window.rank(); ++i) {
    if (window.dilations[i] != 1) return "dilated windows are not implemented";
    if (window.pads_begin[i] >= window.kernel[i] || window.pads_end[i] >= window.kernel[i]) {
      return "padding as large as the window is not implemented";
    }
  }
  if (node.attr_int("ceil_mode", 0) != 0 && node.attr_int("count_include_pad", 0) != 0) {
    return "counted padding with ceil_mode is not implemented";
  }
  return "";
}

dnnl::algorithm algorithm_of(const NodeView& node) {
  if (node.op() == "MaxPool" || node.op() == "GlobalMaxPool") return dnnl::algorithm::pooling_max;
  return node.attr_int("count_include_pad", 0) != 0 ? dnnl::algorithm::pooling_avg_include_padding
                                                    : dnnl::algorithm::pooling_avg_exclude_padding;
}

pooling_forward::primitive_desc describe_pool(const NodeView& node, const Desc& x, const Desc& y) {
  const ops::Window window = *ops::op_of(node).window(node);
  // The library wants the padding that the output size implies; ceil_mode adds some at the end.
  dnnl::memory::dims pads_end;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t size = node.input_shape(0)[static_cast<int64_t>(i) + 2];
    pads_end.push_back((window.output[i] - 1) * window.strides[i] + window.kernel[i] - size -
                       window.pads_begin[i]);
  }
  const pooling_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm_of(node), x, y,
                                   to_dims(window.strides), to_dims(window.kernel),
                                   to_dims(window.pads_begin), pads_end);
  return {desc, user_scratch_attr(), engine(), /*allow_empty=*/true};
}

std::optional<NodeLayouts> layouts_pool(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs = {blocked_like(inputs[0], node.input_shape(0))};
  wanted.outputs = {Layout::channel_blocks(node.output_shape(0), wanted.inputs[0].block_of(1))};
  const auto pd = describe_pool(node, to_desc(node.input_type(0), wanted.inputs[0]),
                                to_desc(node.output_type(0), wanted.outputs[0]));
  if (!pd || !is_fast(pd.impl_info_str())) return std::nullopt;
  return wanted;
}

std::unique_ptr<Kernel> create_pool(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<PrimitiveKernel<pooling_forward>>(
      describe_pool(node, to_desc(node.input_type(0), layouts.inputs[0]),
                    to_desc(node.output_type(0), layouts.outputs[0])));
}

constexpr KernelDef pool_kernel(std::string_view op) {
  return {.op = op,
          .library = "onednn",
          .refuses = refuses_pool,
          .layouts = layouts_pool,
          .create_in = create_pool};
}

}  // namespace

extern const KernelDef kMaxPool = pool_kernel("MaxPool");
extern const KernelDef kAveragePool = pool_kernel("AveragePool");
extern const KernelDef kGlobalMaxPool = pool_kernel("GlobalMaxPool");
extern const KernelDef kGlobalAveragePool = pool_kernel("GlobalAveragePool");

}  // namespace trainyard::kernels::onednn
