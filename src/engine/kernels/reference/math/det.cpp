// Det, by Gaussian elimination with row pivoting.
#include <cmath>
#include <utility>
#include <vector>

#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Destroys the n x n matrix.
double determinant(std::vector<double>& matrix, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> double& {
    return matrix[static_cast<size_t>(i * n + j)];
  };
  double product = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
    }
    if (at(pivot, k) == 0) return 0;
    if (pivot != k) {
      for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
      product = -product;
    }
    product *= at(k, k);
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = at(i, k) / at(k, k);
      for (int64_t j = k; j < n; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return product;
}

class Det final : public Kernel {
 public:
  explicit Det(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) {
      const int64_t n = args.inputs[0].shape->dim(-1);
      for (int64_t i = 0; i < args.outputs[0].num_elements(); ++i) {
        const T* x = args.inputs[0].as<T>() + i * n * n;
        std::vector<double> matrix(x, x + n * n);
        args.outputs[0].as<T>()[i] = static_cast<T>(determinant(matrix, n));
      }
    });
  }
};

}  // namespace

extern const KernelDef kDet = reference_kernel<Det>("Det");

}  // namespace trainyard::kernels::reference
