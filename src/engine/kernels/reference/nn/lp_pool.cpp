// LpPool and GlobalLpPool.
#include <cmath>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

class LpPool final : public Kernel {
 public:
  explicit LpPool(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        p_(static_cast<double>(node.attr_int("p", 2))) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    for (int64_t nc = 0; nc < shape[0] * shape[1]; ++nc) {
      const T* x = args.inputs[0].as<T>() + nc * walk_.input_size();
      T* y = args.outputs[0].as<T>() + nc * walk_.output_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        double sum = 0;
        walk_.for_each(position, [&](int64_t, int64_t at) {
          sum += std::pow(std::abs(static_cast<double>(x[at])), p_);
        });
        y[position] = static_cast<T>(std::pow(sum, 1.0 / p_));
      }
    }
  }

  WindowWalk walk_;
  double p_;
};

}  // namespace

extern const KernelDef kLpPool = reference_kernel<LpPool>("LpPool");
extern const KernelDef kGlobalLpPool = reference_kernel<LpPool>("GlobalLpPool");

}  // namespace trainyard::kernels::reference
