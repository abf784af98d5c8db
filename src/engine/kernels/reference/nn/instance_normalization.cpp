// InstanceNormalization.
#include <cmath>

#include "engine/kernels/reference/nn/moments.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class InstanceNormalization final : public Kernel {
 public:
  explicit InstanceNormalization(const NodeView& node)
      : epsilon_(node.attr_float("epsilon", 1e-5F)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t inner = shape.num_elements(2, shape.rank());
    for (int64_t nc = 0; nc < shape[0] * shape[1]; ++nc) {
      const T* x = args.inputs[0].as<T>() + nc * inner;
      T* y = args.outputs[0].as<T>() + nc * inner;
      const Moments moments =
          moments_of(inner, [&](int64_t i) { return static_cast<double>(x[i]); });
      const int64_t c = nc % shape[1];
      const double scale =
          static_cast<double>(args.inputs[1].as<T>()[c]) / std::sqrt(moments.variance + epsilon_);
      const auto bias = static_cast<double>(args.inputs[2].as<T>()[c]);
      for (int64_t i = 0; i < inner; ++i) {
        y[i] = static_cast<T>((static_cast<double>(x[i]) - moments.mean) * scale + bias);
      }
    }
  }

  double epsilon_;
};

}  // namespace

extern const KernelDef kInstanceNormalization =
    reference_kernel<InstanceNormalization>("InstanceNormalization");

}  // namespace trainyard::kernels::reference
