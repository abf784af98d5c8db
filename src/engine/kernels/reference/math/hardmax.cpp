// Hardmax, one line of the axis at a time.
#include "engine/kernels/reference/layout/axis_lines.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const NodeView& node) : lines_(node.input_shape(0), axis_of(node)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    for (int64_t line = 0; line < lines_.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines_.begin(line);
      T* y = args.outputs[0].as<T>() + lines_.begin(line);
      int64_t largest = 0;
      for (int64_t i = 1; i < lines_.length; ++i) {
        if (x[i * lines_.step] > x[largest * lines_.step]) largest = i;
      }
      for (int64_t i = 0; i < lines_.length; ++i) {
        y[i * lines_.step] = static_cast<T>(i == largest ? 1.0 : 0.0);
      }
    }
  }

  AxisLines lines_;
};

}  // namespace

extern const KernelDef kHardmax = reference_kernel<Hardmax>("Hardmax");

}  // namespace trainyard::kernels::reference
