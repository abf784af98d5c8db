// Gemm.
#include "base/integers.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Gemm final : public Kernel {
 public:
  explicit Gemm(const NodeView& node)
      : alpha_(node.attr_float("alpha", 1.0F)),
        beta_(node.attr_float("beta", 1.0F)),
        transpose_a_(node.attr_int("transA", 0) != 0),
        transpose_b_(node.attr_int("transB", 0) != 0),
        c_strides_(node.has_input(2) ? broadcast_strides(node.input_shape(2), node.output_shape(0))
                                     : std::vector<int64_t>{0, 0}) {}

  void run(const KernelArgs& args) const override {
    for_one_of<float, double, F16, BF16, int32_t, int64_t, uint32_t, uint64_t>(
        args.inputs[0].dtype, "Gemm", [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const T* a = args.inputs[0].as<T>();
    const T* b = args.inputs[1].as<T>();
    const T* c = input_or_none(args, 2).as<T>();
    const int64_t m = (*args.outputs[0].shape)[0];
    const int64_t n = (*args.outputs[0].shape)[1];
    const int64_t k = (*args.inputs[0].shape)[transpose_a_ ? 0 : 1];
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        Sum<T> sum{};
        for (int64_t i = 0; i < k; ++i) {
          sum += static_cast<Sum<T>>(a[transpose_a_ ? i * m + row : row * k + i]) *
                 static_cast<Sum<T>>(b[transpose_b_ ? column * k + i : i * n + column]);
        }
        const T added = c != nullptr ? c[row * c_strides_[0] + column * c_strides_[1]] : T{};
        args.outputs[0].as<T>()[row * n + column] = combine<T>(sum, added);
      }
    }
  }

  template <typename T>
  T combine(Sum<T> sum, T added) const {
    if constexpr (std::is_integral_v<T>) {
      // Exact where a double is not.
      if (alpha_ == 1.0 && beta_ == 1.0) return static_cast<T>(sum + static_cast<Sum<T>>(added));
      return within_range<T>(alpha_ * static_cast<double>(static_cast<T>(sum)) +
                             beta_ * static_cast<double>(added));
    } else {
      return static_cast<T>(alpha_ * sum + beta_ * static_cast<double>(added));
    }
  }

  double alpha_;
  double beta_;
  bool transpose_a_;
  bool transpose_b_;
  std::vector<int64_t> c_strides_;
};

}  // namespace

extern const KernelDef kGemm = reference_kernel<Gemm>("Gemm");

}  // namespace trainyard::kernels::reference
