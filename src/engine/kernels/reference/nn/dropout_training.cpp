// DropoutTraining: the mask is drawn from (seed, step, place) by a counter-based generator.
#include "base/random.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class DropoutTraining final : public Kernel {
 public:
  explicit DropoutTraining(const NodeView& node)
      : ratio_(node.attr_float("ratio", 0)),
        seed_(static_cast<uint64_t>(node.attr_int("seed", 0))),
        first_(node.attr_int("first", 0)) {}

  void run(const KernelArgs& args) const override {
    const RandomStream stream(seed_, static_cast<uint64_t>(*args.inputs[1].as<int64_t>()));
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) {
      for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
        const bool kept = stream.uniform(static_cast<uint64_t>(first_ + i)) >= ratio_;
        args.outputs[0].as<T>()[i] =
            kept ? static_cast<T>(static_cast<double>(args.inputs[0].as<T>()[i]) / (1.0 - ratio_))
                 : T{};
      }
    });
  }

 private:
  double ratio_;
  uint64_t seed_;
  int64_t first_;
};

}  // namespace

extern const KernelDef kDropoutTraining = reference_kernel<DropoutTraining>("DropoutTraining");

}  // namespace trainyard::kernels::reference
