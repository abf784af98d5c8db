// LpNormalization; a line of zeros stays one.
#include <cmath>

#include "engine/kernels/reference/layout/axis_lines.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const NodeView& node)
      : lines_(node.input_shape(0), axis_of(node)), squares_(node.attr_int("p", 2) == 2) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    for (int64_t line = 0; line < lines_.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines_.begin(line);
      T* y = args.outputs[0].as<T>() + lines_.begin(line);
      double sum = 0;
      for (int64_t i = 0; i < lines_.length; ++i) {
        const auto value = static_cast<double>(x[i * lines_.step]);
        sum += squares_ ? value * value : std::abs(value);
      }
      const double norm = squares_ ? std::sqrt(sum) : sum;
      for (int64_t i = 0; i < lines_.length; ++i) {
        const auto value = static_cast<double>(x[i * lines_.step]);
        y[i * lines_.step] = static_cast<T>(norm == 0 ? 0 : value / norm);
      }
    }
  }

  AxisLines lines_;
  bool squares_;
};

}  // namespace

extern const KernelDef kLpNormalization = reference_kernel<LpNormalization>("LpNormalization");

}  // namespace trainyard::kernels::reference
