// Reductions of the last axes, which global pooling is too, and softmax.
#include "ops/math/reduce.h"

#include <algorithm>

#include "engine/device/embedded.h"
#include "engine/kernels/device/device_kernel.h"

namespace trainyard::kernels::on_device {
namespace {

// The work-items of a row.
int64_t width_in(std::string_view text) {
  return trainyard::device::kernel_constant(text, "WIDTH");
}

std::string_view refuses_reduce(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  const auto reduced = ops::reduced_axes(node);
  if (!reduced) return "the axes are not known before the run";
  const auto first = std::find(reduced->begin(), reduced->end(), true);
  const bool last_axes = std::find(first, reduced->end(), false) == reduced->end();
  return last_axes ? "" : "only the last axes are implemented";
}

// 0 sum, 1 mean, 2 largest, 3 smallest, as the text says.
int64_t reduction_kind(std::string_view op) {
  if (op == "ReduceSum") return 0;
  if (op == "ReduceMean" || op == "GlobalAveragePool") return 1;
  return op == "ReduceMin" ? 3 : 2;
}

std::unique_ptr<Kernel> create_reduce(const NodeView& node, const NodeLayouts&, Device& device) {
  const int64_t rows = node.output_shape(0).num_elements();
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("reduce", "reduce_rows", row_grid(rows, width_in("reduce"))).input(0).output(0);
  kernel->integer(rows).integer(node.input_shape(0).num_elements() / rows);
  kernel->integer(reduction_kind(node.op()));
  return kernel;
}

std::string_view refuses_softmax(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return node.input_shape(0).rank() == 0 ? "the input is a scalar" : "";
}

std::unique_ptr<Kernel> create_softmax(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& x = node.input_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.rank(), node.op());
  const int64_t stride = x.num_elements(axis + 1, x.rank());
  const int64_t lines = x.num_elements() / x[axis];
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("softmax", "softmax_lines", row_grid(lines, width_in("softmax")))
      .input(0)
      .output(0);
  kernel->integer(lines).integer(x[axis]).integer(stride);
  kernel->integer(node.op() == "LogSoftmax" ? 1 : 0);
  return kernel;
}

}  // namespace

extern const KernelDef kReduceMax = device_def("ReduceMax", refuses_reduce, create_reduce);
extern const KernelDef kReduceMean = device_def("ReduceMean", refuses_reduce, create_reduce);
extern const KernelDef kReduceMin = device_def("ReduceMin", refuses_reduce, create_reduce);
extern const KernelDef kReduceSum = device_def("ReduceSum", refuses_reduce, create_reduce);
extern const KernelDef kGlobalAveragePool =
    device_def("GlobalAveragePool", refuses_types, create_reduce);
extern const KernelDef kGlobalMaxPool = device_def("GlobalMaxPool", refuses_types, create_reduce);
extern const KernelDef kSoftmax = device_def("Softmax", refuses_softmax, create_softmax);
extern const KernelDef kLogSoftmax = device_def("LogSoftmax", refuses_softmax, create_softmax);

}  // namespace trainyard::kernels::on_device
