// ScaleShift: one channel after the other.
#include "engine/kernels/reference/reference.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::reference {
namespace {

class ScaleShift final : public Kernel {
 public:
  explicit ScaleShift(const NodeView& node) : activation_(ops::activation_of(node)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.outputs[0].dtype, [&]<typename T>(T) {
      const Shape& shape = *args.inputs[0].shape;
      const int64_t inner = shape.num_elements(2, shape.rank());
      const T* x = args.inputs[0].as<T>();
      T* y = args.outputs[0].as<T>();
      for (int64_t i = 0; i < shape.num_elements(); ++i) {
        const int64_t c = i / inner % shape[1];
        const double scale = args.inputs[1].as<T>()[c];
        const double shift = args.inputs[2].as<T>()[c];
        y[i] = static_cast<T>(activation_(x[i] * scale + shift));
      }
    });
  }

 private:
  ops::ActivationSpec activation_;
};

}  // namespace

extern const KernelDef kScaleShift = reference_kernel<ScaleShift>("ScaleShift");

}  // namespace trainyard::kernels::reference
