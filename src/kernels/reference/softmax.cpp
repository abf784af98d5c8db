// Softmax and LogSoftmax, one line of the axis at a time.
#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Softmax final : public Kernel {
 public:
  explicit Softmax(const NodeView& node)
      : axis_(normalize_axis(node.attr_int("axis", -1), node.input_shape(0).rank(), node.op())),
        logarithm_(node.op() == "LogSoftmax") {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t length = shape[axis_];
    const int64_t step = shape.num_elements(axis_ + 1, shape.rank());
    const int64_t outer = shape.num_elements(0, axis_);
    for (int64_t i = 0; i < outer * step; ++i) {
      const int64_t begin = i / step * length * step + i % step;
      const T* x = args.inputs[0].as<T>() + begin;
      T* y = args.outputs[0].as<T>() + begin;
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j < length; ++j) largest = std::max(largest, double{x[j * step]});
      double sum = 0;
      for (int64_t j = 0; j < length; ++j) sum += std::exp(x[j * step] - largest);
      for (int64_t j = 0; j < length; ++j) {
        const double shifted = x[j * step] - largest;
        y[j * step] =
            static_cast<T>(logarithm_ ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
  }

  int64_t axis_;
  bool logarithm_;
};

}  // namespace

extern const KernelDef kSoftmax = reference_kernel<Softmax>("Softmax");
extern const KernelDef kLogSoftmax = reference_kernel<Softmax>("LogSoftmax");

}  // namespace trainyard::kernels::reference
