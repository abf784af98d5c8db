// MatMul, MatMulInteger and QLinearMatMul: matrix products over broadcast batch dimensions, as
// numpy.matmul.
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "ops/gradient.h"
#include "ops/op_def.h"
#include "ops/quantize/quantization.h"

namespace trainyard::ops {
namespace {

constexpr ParamRole kMatmulRoles[] = {ParamRole::kWeight, ParamRole::kWeight};
// a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point
constexpr ParamRole kMatmulQLinearRoles[] = {ParamRole::kWeight, ParamRole::kNone, ParamRole::kNone,
                                             ParamRole::kWeight};

// A vector is a one-row matrix on the left and a one-column matrix on the right.
Shape as_matrix(const Shape& shape, bool left) {
  if (shape.rank() >= 2) return shape;
  return left ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

Shape product_shape(const Shape& a, const Shape& b) {
  TY_REQUIRE(a.rank() >= 1 && b.rank() >= 1,
             "operands have shapes {} and {}; scalars do not multiply", a.to_string(),
             b.to_string());
  const Shape left = as_matrix(a, true);
  const Shape right = as_matrix(b, false);
  TY_REQUIRE(left.dim(-1) == right.dim(-2) || left.dim(-1) == Shape::kUnknown ||
                 right.dim(-2) == Shape::kUnknown,
             "inner sizes of {} and {} differ", a.to_string(), b.to_string());
  const Shape batch =
      broadcast_shapes(Shape(left.dims().first(static_cast<size_t>(left.rank() - 2))),
                       Shape(right.dims().first(static_cast<size_t>(right.rank() - 2))));
  std::vector<int64_t> dims = batch.vector();
  if (a.rank() >= 2) dims.push_back(left.dim(-2));
  if (b.rank() >= 2) dims.push_back(right.dim(-1));
  return Shape(std::move(dims));
}

// Rows of all matrices of A, or columns of all matrices of B.
int64_t count_lines(const Shape& shape, bool rows) {
  const Shape matrix = as_matrix(shape, rows);
  if (!matrix.is_static()) return Shape::kUnknown;
  return matrix.num_elements(0, matrix.rank() - 2) * matrix.dim(rows ? -2 : -1);
}

std::vector<TensorType> infer_matmul(const NodeView& node) {
  TY_REQUIRE(node.input_type(0).dtype == node.input_type(1).dtype, "operands are {} and {}",
             dtype_name(node.input_type(0).dtype), dtype_name(node.input_type(1).dtype));
  return {{node.input_type(0).dtype, product_shape(node.input_shape(0), node.input_shape(1))}};
}

std::vector<TensorType> infer_integer_matmul(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const Shape& b = node.input_shape(1);
  const Shape y = product_shape(a, b);
  require_eight_bits(node, {0, 1});
  require_zero_point(node, 2, 0, count_lines(a, /*rows=*/true));
  require_zero_point(node, 3, 1, count_lines(b, /*rows=*/false));
  return {{DType::kI32, y}};
}

std::vector<TensorType> infer_scaled_matmul(const NodeView& node) {
  std::vector<TensorType> y = infer_integer_matmul(node);
  require_scaling(node, count_lines(node.input_shape(1), /*rows=*/false));
  y[0].dtype = DType::kF32;
  return y;
}

std::vector<TensorType> infer_qlinear_matmul(const NodeView& node) {
  const Shape& a = node.input_shape(0);
  const Shape& b = node.input_shape(3);
  const Shape y = product_shape(a, b);
  require_eight_bits(node, {0, 3, 7});
  require_scale(node, 1, count_lines(a, /*rows=*/true));
  require_zero_point(node, 2, 0, count_lines(a, /*rows=*/true));
  require_scale(node, 4, count_lines(b, /*rows=*/false));
  require_zero_point(node, 5, 3, count_lines(b, /*rows=*/false));
  require_scale(node, 6, 1);
  require_zero_point(node, 7, 7, 1);
  return {{node.input_type(7).dtype, y}};
}

// One MAC per output element and element of the summed dimension.
Cost cost_matmul(const NodeView& node) {
  Cost cost = traffic(node);
  cost.macs = checked_product({node.output_shape(0).num_elements(), node.input_shape(0).dim(-1)});
  cost.flops = 2 * cost.macs;
  return cost;
}

// As MatMul; each output element is also scaled, maybe shifted.
Cost cost_scaled_matmul(const NodeView& node) {
  Cost total = cost_matmul(node);
  total.flops += (node.has_input(kScalingBias) ? 2 : 1) * node.output_shape(0).num_elements();
  return total;
}

// As MatMul; each output element is also scaled, rounded and shifted.
Cost cost_qlinear_matmul(const NodeView& node) {
  Cost total = cost_matmul(node);
  total.flops += 3 * node.output_shape(0).num_elements();
  return total;
}

ValueId transposed(GradContext& grad, ValueId matrix) {
  std::vector<int64_t> perm(static_cast<size_t>(grad.builder().shape(matrix).rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return grad.add("Transpose", {matrix}, {{"perm", perm}});
}

// dA = dy B', dB = A' dy, summed over broadcast batches. Vectors take part as the matrices they
// stand for.
std::vector<ValueId> gradient_matmul(GradContext& grad) {
  const Shape a = grad.x_shape(0);
  const Shape b = grad.x_shape(1);
  const auto as = [&](ValueId value, const Shape& shape) {
    return grad.builder().shape(value) == shape ? value : grad.reshape(value, shape);
  };
  std::vector<int64_t> full = grad.builder().shape(grad.dy()).vector();
  if (b.rank() == 1) full.push_back(1);
  if (a.rank() == 1) full.insert(full.end() - 1, 1);
  const ValueId dy = as(grad.dy(), Shape(full));
  std::vector<ValueId> dx(2, kNoValue);
  if (grad.wants(0)) {
    const ValueId right = as(grad.x(1), as_matrix(b, false));
    const ValueId product = grad.add("MatMul", {dy, transposed(grad, right)});
    dx[0] = as(grad.sum_to(product, as_matrix(a, true)), a);
  }
  if (grad.wants(1)) {
    const ValueId left = as(grad.x(0), as_matrix(a, true));
    const ValueId product = grad.add("MatMul", {transposed(grad, left), dy});
    dx[1] = as(grad.sum_to(product, as_matrix(b, false)), b);
  }
  return dx;
}

}  // namespace

extern const OpDef kMatMul = {.name = "MatMul",
                              .kind = OpKind::kLinear,
                              .inputs = {2, 2},
                              .roles = kMatmulRoles,
                              .infer = infer_matmul,
                              .cost = cost_matmul,
                              .gradient = gradient_matmul,
                              .saves = SavedTensors::kOtherFactor,
                              .int8 = Int8Form::kLayer};
extern const OpDef kMatMulInteger = {.name = "MatMulInteger",
                                     .kind = OpKind::kLinear,
                                     .inputs = {2, 4},
                                     .roles = kMatmulRoles,
                                     .infer = infer_integer_matmul,
                                     .cost = cost_matmul,
                                     .no_gradient = NoGradient::kNever};
// MatMulInteger, times a scale, plus a bias; see require_scaling(). No file has it.
extern const OpDef kScaledMatMulInteger = {.name = "ScaledMatMulInteger",
                                           .kind = OpKind::kLinear,
                                           .inputs = {5, 6},
                                           .roles = kMatmulRoles,
                                           .infer = infer_scaled_matmul,
                                           .cost = cost_scaled_matmul};
extern const OpDef kQLinearMatMul = {.name = "QLinearMatMul",
                                     .kind = OpKind::kLinear,
                                     .inputs = {8, 8},
                                     .roles = kMatmulQLinearRoles,
                                     .infer = infer_qlinear_matmul,
                                     .cost = cost_qlinear_matmul,
                                     .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
