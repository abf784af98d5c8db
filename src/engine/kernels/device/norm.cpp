// BatchNormalization with given statistics.
#include "engine/kernels/device/device_kernel.h"

namespace trainyard::kernels::on_device {
namespace {

std::string_view refuses_norm(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  for (size_t i = 1; i < 5; ++i) {
    if (node.input_type(i).dtype != DType::kF32) return "only f32 statistics are implemented";
  }
  return node.attr_int("training_mode", 0) != 0 ? "only given statistics are implemented" : "";
}

std::unique_ptr<Kernel> create_norm(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& x = node.input_shape(0);
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("norm", "norm_batch", line_grid(x.num_elements()));
  for (size_t i = 0; i < 5; ++i) kernel->input(i);
  kernel->output(0).integer(x.num_elements()).integer(x[1]).integer(x.num_elements(2, x.rank()));
  kernel->number(node.attr_float("epsilon", 1e-5F));
  return kernel;
}

}  // namespace

extern const KernelDef kBatchNormalization =
    device_def("BatchNormalization", refuses_norm, create_norm);

}  // namespace trainyard::kernels::on_device
