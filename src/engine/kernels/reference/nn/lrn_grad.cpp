// LRNGrad. With s_j = bias + alpha/size * sum x^2 over the window of j and y_j = x_j * s_j^-beta:
// dx_i = dy_i * s_i^-beta - 2 * alpha * beta / size * x_i * sum over windows j that hold i of dy_j
// * y_j / s_j.
#include <algorithm>
#include <cmath>

#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class LrnGrad final : public Kernel {
 public:
  explicit LrnGrad(const NodeView& node)
      : size_(node.attr_int("size", 1)),
        alpha_(node.attr_float("alpha", 1e-4F)),
        beta_(node.attr_float("beta", 0.75F)),
        bias_(node.attr_float("bias", 1.0F)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  // Channels [first, last] of the window around `c`.
  std::pair<int64_t, int64_t> window(int64_t c, int64_t channels) const {
    return {std::max<int64_t>(0, c - (size_ - 1) / 2), std::min(channels - 1, c + size_ / 2)};
  }

  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t channels = shape[1];
    const int64_t inner = shape.num_elements(2, shape.rank());
    for (int64_t line = 0; line < shape[0] * inner; ++line) {
      const int64_t begin = line / inner * channels * inner + line % inner;
      const T* x = args.inputs[0].as<T>() + begin;
      const T* dy = args.inputs[1].as<T>() + begin;
      T* dx = args.outputs[0].as<T>() + begin;
      const auto scale = [&](int64_t c) {
        const auto [first, last] = window(c, channels);
        double sum = 0;
        for (int64_t k = first; k <= last; ++k)
          sum += static_cast<double>(x[k * inner]) * x[k * inner];
        return bias_ + alpha_ / static_cast<double>(size_) * sum;
      };
      for (int64_t i = 0; i < channels; ++i) {
        double through = 0;
        for (int64_t j = 0; j < channels; ++j) {
          const auto [first, last] = window(j, channels);
          if (i < first || i > last) continue;
          through += dy[j * inner] * x[j * inner] * std::pow(scale(j), -beta_ - 1);
        }
        const double direct = dy[i * inner] * std::pow(scale(i), -beta_);
        dx[i * inner] = static_cast<T>(direct - 2 * alpha_ * beta_ / static_cast<double>(size_) *
                                                    x[i * inner] * through);
      }
    }
  }

  int64_t size_;
  double alpha_;
  double beta_;
  double bias_;
};

}  // namespace

extern const KernelDef kLRNGrad = reference_kernel<LrnGrad>("LRNGrad");

}  // namespace trainyard::kernels::reference
