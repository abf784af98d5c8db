// Softmax and LogSoftmax, one line of the axis at a time.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/reference/layout/axis_lines.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class Softmax final : public Kernel {
 public:
  explicit Softmax(const NodeView& node)
      : lines_(node.input_shape(0), axis_of(node)), logarithm_(node.op() == "LogSoftmax") {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    for (int64_t line = 0; line < lines_.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines_.begin(line);
      T* y = args.outputs[0].as<T>() + lines_.begin(line);
      const auto at = [&](int64_t i) { return static_cast<double>(x[i * lines_.step]); };
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < lines_.length; ++i) largest = std::max(largest, at(i));
      double sum = 0;
      for (int64_t i = 0; i < lines_.length; ++i) sum += std::exp(at(i) - largest);
      for (int64_t i = 0; i < lines_.length; ++i) {
        const double shifted = at(i) - largest;
        y[i * lines_.step] =
            static_cast<T>(logarithm_ ? shifted - std::log(sum) : std::exp(shifted) / sum);
      }
    }
  }

  AxisLines lines_;
  bool logarithm_;
};

}  // namespace

extern const KernelDef kSoftmax = reference_kernel<Softmax>("Softmax");
extern const KernelDef kLogSoftmax = reference_kernel<Softmax>("LogSoftmax");

}  // namespace trainyard::kernels::reference
