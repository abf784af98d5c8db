// AffineGrid: the grid that GridSample reads at, from an affine map theta (N x 2 x 3 or N x 3 x 4).
#include "base/error.h"
#include "ops/op_def.h"
#include "tensor/dispatch.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kAffineGridAttributes[] = {{"align_corners", AttrKind::kInt}};

std::vector<TensorType> infer_affine_grid(const NodeView& node) {
  const TensorType& theta = node.input_type(0);
  TY_REQUIRE(theta.shape.rank() == 3 && is_float(theta.dtype) &&
                 (theta.shape[1] == 2 || theta.shape[1] == 3) &&
                 theta.shape[2] == theta.shape[1] + 1,
             "theta is {}, expected N x 2 x 3 or N x 3 x 4 floats", theta.to_string());
  const int64_t spatial = theta.shape[1];
  const auto size = node.input_ints(1);
  TY_REQUIRE(!size || static_cast<int64_t>(size->size()) == spatial + 2,
             "the size has {} dimensions, expected {}", size->size(), spatial + 2);
  std::vector<int64_t> dims = {theta.shape[0]};
  for (int64_t i = 0; i < spatial; ++i) {
    dims.push_back(size ? (*size)[static_cast<size_t>(2 + i)] : Shape::kUnknown);
  }
  dims.push_back(spatial);
  return {{theta.dtype, Shape(std::move(dims))}};
}

// Position i of n in [-1, 1].
double unit(int64_t i, int64_t n, bool corners) {
  const auto at = static_cast<double>(i);
  const auto count = static_cast<double>(n);
  if (corners) return n > 1 ? 2 * at / (count - 1) - 1 : 0.0;
  return (2 * at + 1) / count - 1;
}

Routine routine_affine_grid(const NodeView& node) {
  return [corners = node.attr_int("align_corners", 0) != 0](Views in, Views out) {
    const Shape& y = *out[0].shape;
    const int64_t spatial = y[y.rank() - 1];
    const int64_t points = y.num_elements(1, y.rank() - 1);
    for_float_type(in[0].dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < y[0] * points; ++i) {
        const T* theta = in[0].as<const T>() + i / points * spatial * (spatial + 1);
        int64_t rest = i % points;
        double at[3] = {0, 0, 0};  // x, y, z
        for (int64_t d = 0; d < spatial; ++d) {
          const int64_t n = y[spatial - d];
          at[d] = unit(rest % n, n, corners);
          rest /= n;
        }
        for (int64_t row = 0; row < spatial; ++row) {
          auto value = static_cast<double>(theta[row * (spatial + 1) + spatial]);
          for (int64_t d = 0; d < spatial; ++d) {
            value += static_cast<double>(theta[row * (spatial + 1) + d]) * at[d];
          }
          out[0].as<T>()[i * spatial + row] = static_cast<T>(value);
        }
      }
    });
  };
}

}  // namespace

// Inputs: theta, size (N, C, spatial).
extern const OpDef kAffineGrid = {.name = "AffineGrid",
                                  .kind = OpKind::kDataMovement,
                                  .inputs = {2, 2},
                                  .attributes = kAffineGridAttributes,
                                  .infer = infer_affine_grid,
                                  .routine = routine_affine_grid};

}  // namespace trainyard::ops
