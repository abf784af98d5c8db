// Conv and FusedConv: windows of one position as products of matrices, others as defined.
#include "engine/device/embedded.h"
#include "engine/kernels/device/matmul.h"
#include "ops/op_def.h"

namespace trainyard::kernels::on_device {
namespace {

constexpr size_t kBias = 2;
constexpr size_t kSum = 3;

std::string_view refuses_conv(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  if (node.input_shape(0).rank() != 4) return "only two spatial dimensions are implemented";
  return knows_activation(node) ? "" : "the activation is not implemented";
}

// Every position of the result sees the same position of the input.
bool is_product(const NodeView& node, const ops::Window& window) {
  return window.kernel_elements() == 1 && node.attr_int("group", 1) == 1 &&
         window.strides == std::vector<int64_t>{1, 1} &&
         window.pads_begin == std::vector<int64_t>{0, 0} &&
         window.pads_end == std::vector<int64_t>{0, 0};
}

// Of each image: weights (results x channels) times numbers (channels x positions).
std::unique_ptr<Kernel> create_product(const NodeView& node, Device& device) {
  const Shape& x = node.input_shape(0);
  MatmulShape shape;
  shape.m = node.output_shape(0)[1];
  shape.n = x[2] * x[3];
  shape.k = x[1];
  shape.batch = x[0];
  shape.a_strides[0] = shape.k;
  shape.a_strides[1] = 1;
  shape.b_strides[0] = shape.n;
  shape.b_strides[1] = 1;
  shape.b_strides[2] = shape.k * shape.n;
  shape.c_strides[0] = 1;
  return matmul_kernel(node, device, {.a = 1, .b = 0, .c = kBias, .sum = kSum}, shape);
}

std::unique_ptr<Kernel> create_conv(const NodeView& node, const NodeLayouts&, Device& device) {
  const ops::Window window = *ops::op_of(node).window(node);
  if (is_product(node, window)) return create_product(node, device);
  constexpr int64_t kItems = 64;
  static const int64_t kChannels = trainyard::device::kernel_constant("conv", "CHANNELS");
  const Shape& x = node.input_shape(0);
  const Shape& y = node.output_shape(0);
  const int64_t groups = node.attr_int("group", 1);
  const int64_t blocks = groups * ((y[1] / groups + kChannels - 1) / kChannels);
  const Grid grid = {.groups = {(y[2] * y[3] + kItems - 1) / kItems, blocks, y[0]},
                     .group = {kItems, 1, 1}};
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("conv", "conv_direct", grid).input(0).input(1).input(kBias).input(kSum).output(0);
  kernel->integers(x.dims().subspan(1)).integers(y.dims().subspan(1)).integer(groups);
  kernel->integers(window.kernel).integers(window.strides).integers(window.pads_begin);
  kernel->integers(window.dilations);
  give_activation(*kernel, node);
  return kernel;
}

}  // namespace

extern const KernelDef kConv = device_def("Conv", refuses_conv, create_conv);
extern const KernelDef kFusedConv = device_def("FusedConv", refuses_conv, create_conv);

}  // namespace trainyard::kernels::on_device
