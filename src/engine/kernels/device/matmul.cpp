// Gemm, FusedGemm and MatMul.
#include "engine/kernels/device/matmul.h"

#include "engine/device/embedded.h"

namespace trainyard::kernels::on_device {
namespace {

std::string_view refuses_gemm(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return knows_activation(node) ? "" : "the activation is not implemented";
}

std::unique_ptr<Kernel> create_gemm(const NodeView& node, const NodeLayouts&, Device& device) {
  const bool flip_a = node.attr_int("transA", 0) != 0;
  const bool flip_b = node.attr_int("transB", 0) != 0;
  MatmulShape shape;
  shape.m = node.output_shape(0)[0];
  shape.n = node.output_shape(0)[1];
  shape.k = node.input_shape(0)[flip_a ? 0 : 1];
  shape.a_strides[flip_a ? 1 : 0] = flip_a ? shape.m : shape.k;
  shape.a_strides[flip_a ? 0 : 1] = 1;
  shape.b_strides[flip_b ? 1 : 0] = flip_b ? shape.k : shape.n;
  shape.b_strides[flip_b ? 0 : 1] = 1;
  shape.alpha = node.attr_float("alpha", 1.0F);
  shape.beta = node.attr_float("beta", 1.0F);
  if (node.has_input(2)) {
    const auto strides = broadcast_strides(node.input_shape(2), node.output_shape(0));
    shape.c_strides[0] = strides[0];
    shape.c_strides[1] = strides[1];
  }
  return matmul_kernel(node, device, {}, shape);
}

// Batches of matrices times one matrix are one tall matrix times it.
bool is_tall(const NodeView& node) {
  return node.input_shape(1).rank() == 2 && node.input_shape(0).rank() >= 2;
}

bool is_batch(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const Shape& b = node.input_shape(1);
  return a.rank() == b.rank() && a.rank() > 2 &&
         std::equal(a.dims().begin(), a.dims().end() - 2, b.dims().begin());
}

std::string_view refuses_matmul(const NodeView& node) {
  if (const std::string_view reason = refuses_types(node); !reason.empty()) return reason;
  return is_tall(node) || is_batch(node) ? "" : "vectors and stretched batches are not implemented";
}

std::unique_ptr<Kernel> create_matmul(const NodeView& node, const NodeLayouts&, Device& device) {
  const Shape& a = node.input_shape(0);
  MatmulShape shape;
  shape.k = a.dim(-1);
  shape.n = node.input_shape(1).dim(-1);
  shape.m = is_tall(node) ? a.num_elements() / shape.k : a.dim(-2);
  shape.batch = a.num_elements() / (shape.m * shape.k);
  shape.a_strides[0] = shape.k;
  shape.a_strides[1] = 1;
  shape.a_strides[2] = shape.m * shape.k;
  shape.b_strides[0] = shape.n;
  shape.b_strides[1] = 1;
  shape.b_strides[2] = shape.k * shape.n;
  return matmul_kernel(node, device, {.c = kNoInput}, shape);
}

}  // namespace

std::unique_ptr<Kernel> matmul_kernel(const NodeView& node, Device& device,
                                      const MatmulInputs& inputs, const MatmulShape& shape) {
  static const int64_t kTile = trainyard::device::kernel_constant("matmul", "TILE");
  const Grid grid = {
      .groups = {(shape.n + kTile - 1) / kTile, (shape.m + kTile - 1) / kTile, shape.batch},
      .group = {kTile, kTile, 1}};
  auto kernel = std::make_unique<DeviceKernel>(node, device);
  kernel->launch("matmul", "matmul", grid);
  for (const size_t i : {inputs.a, inputs.b, inputs.c, inputs.sum}) kernel->input(i);
  kernel->output(0).integer(shape.m).integer(shape.n).integer(shape.k);
  kernel->integers(shape.a_strides).integers(shape.b_strides).integers(shape.c_strides);
  kernel->number(shape.alpha).number(shape.beta);
  give_activation(*kernel, node);
  return kernel;
}

extern const KernelDef kGemm = device_def("Gemm", refuses_gemm, create_gemm);
extern const KernelDef kFusedGemm = device_def("FusedGemm", refuses_gemm, create_gemm);
extern const KernelDef kMatMul = device_def("MatMul", refuses_matmul, create_matmul);

}  // namespace trainyard::kernels::on_device
