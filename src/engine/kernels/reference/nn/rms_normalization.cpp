// RMSNormalization.
#include <cmath>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class RmsNormalization final : public Kernel {
 public:
  explicit RmsNormalization(const NodeView& node)
      : shape_(node.input_shape(0)),
        strides_(broadcast_strides(node.input_shape(1), shape_)),
        epsilon_(node.attr_float("epsilon", 1e-5F)) {
    const int64_t axis = normalize_axis(node.attr_int("axis", -1), shape_.rank(), node.op());
    count_ = shape_.num_elements(axis, shape_.rank());
  }

  void run(const KernelArgs& args) const override {
    const TensorView& x = args.inputs[0];
    for (int64_t begin = 0; begin < x.num_elements(); begin += count_) {
      double sum = 0;
      for (int64_t i = 0; i < count_; ++i) {
        const double value = float_at(x, begin + i);
        sum += value * value;
      }
      const double root = std::sqrt(sum / static_cast<double>(count_) + epsilon_);
      for (int64_t i = begin; i < begin + count_; ++i) {
        store_float(args.outputs[0], i, float_at(x, i) / root * float_at(args.inputs[1], scale(i)));
      }
    }
  }

 private:
  // Where the scale of element `i` is.
  int64_t scale(int64_t i) const {
    int64_t at = 0;
    for (int64_t d = shape_.rank() - 1; d >= 0; --d) {
      at += i % shape_[d] * strides_[static_cast<size_t>(d)];
      i /= shape_[d];
    }
    return at;
  }

  Shape shape_;
  std::vector<int64_t> strides_;
  double epsilon_;
  int64_t count_ = 1;
};

}  // namespace

extern const KernelDef kRMSNormalization = reference_kernel<RmsNormalization>("RMSNormalization");

}  // namespace trainyard::kernels::reference
