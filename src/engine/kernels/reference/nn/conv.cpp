// Conv.
#include "engine/kernels/reference/nn/convolve.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

class Conv final : public Kernel {
 public:
  explicit Conv(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        groups_(node.attr_int("group", 1)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const T* x = args.inputs[0].as<T>();
    const T* w = args.inputs[1].as<T>();
    const T* bias = input_or_none(args, 2).as<T>();
    T* y = args.outputs[0].as<T>();
    convolve<double>(
        walk_, *args.inputs[0].shape, *args.inputs[1].shape, groups_,
        [&](int64_t i) { return static_cast<double>(x[i]); },
        [&](int64_t i, int64_t) { return static_cast<double>(w[i]); },
        [&](int64_t i, int64_t channel, double sum) {
          y[i] = static_cast<T>(sum + (bias != nullptr ? static_cast<double>(bias[channel]) : 0.0));
        });
  }

  WindowWalk walk_;
  int64_t groups_;
};

}  // namespace

extern const KernelDef kConv = reference_kernel<Conv>("Conv");

}  // namespace trainyard::kernels::reference
