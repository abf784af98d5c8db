// MaxPool and AveragePool over two spatial dimensions.
#include "engine/kernels/device/device_kernel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::on_device {
namespace {

std::string_view refuses_pool(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return node.input_shape(0).rank() == 4 ? "" : "only two spatial dimensions are implemented";
}

std::unique_ptr<Kernel> create_pool(const NodeView& node, const NodeLayouts&, Device& device) {
  const ops::Window window = *ops::op_of(node).window(node);
  const Shape& y = node.output_shape(0);
  const bool mean = node.op() == "AveragePool";
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("pool", mean ? "pool_mean" : "pool_max", line_grid(y.num_elements()));
  kernel->input(0).output(0).integer(y.num_elements());
  kernel->integers(node.input_shape(0).dims().subspan(2)).integers(y.dims().subspan(2));
  kernel->integers(window.kernel).integers(window.strides).integers(window.pads_begin);
  kernel->integers(window.dilations);
  if (mean) {
    kernel->integers(window.pads_end).integer(node.attr_int("count_include_pad", 0));
  }
  return kernel;
}

}  // namespace

extern const KernelDef kMaxPool = device_def("MaxPool", refuses_pool, create_pool);
extern const KernelDef kAveragePool = device_def("AveragePool", refuses_pool, create_pool);

}  // namespace trainyard::kernels::on_device
