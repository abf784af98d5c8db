// LRN: normalization across neighboring channels.
#include <algorithm>
#include <cmath>

#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Lrn final : public Kernel {
 public:
  explicit Lrn(const NodeView& node)
      : alpha_(node.attr_float("alpha", 1e-4F)),
        beta_(node.attr_float("beta", 0.75F)),
        bias_(node.attr_float("bias", 1.0F)),
        size_(node.attr_int("size", 1)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t channels = shape[1];
    const int64_t inner = shape.num_elements(2, shape.rank());
    const int64_t before = (size_ - 1) / 2;
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const int64_t c = i / inner % channels;
      const T* column = args.inputs[0].as<T>() + (i - c * inner);
      const int64_t first = std::max<int64_t>(0, c - before);
      const int64_t last = std::min(channels - 1, c - before + size_ - 1);
      double squares = 0;
      for (int64_t k = first; k <= last; ++k) {
        squares += static_cast<double>(column[k * inner]) * static_cast<double>(column[k * inner]);
      }
      const double base = bias_ + alpha_ / static_cast<double>(size_) * squares;
      args.outputs[0].as<T>()[i] = static_cast<T>(column[c * inner] / std::pow(base, beta_));
    }
  }

  double alpha_;
  double beta_;
  double bias_;
  int64_t size_;
};

}  // namespace

extern const KernelDef kLRN = reference_kernel<Lrn>("LRN");

}  // namespace trainyard::kernels::reference
