// FusedConv and FusedGemm: the plain operator, then the sum and the activation element by element.
#include "engine/kernels/reference/reference.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::reference {

extern const KernelDef kConv;
extern const KernelDef kGemm;

namespace {

class Fused final : public Kernel {
 public:
  Fused(const NodeView& node, const KernelDef& plain)
      : plain_(plain.create(node)),
        activation_(ops::activation_of(node)),
        has_sum_(node.op() == "FusedConv" && node.has_input(kSum)) {}

  void run(const KernelArgs& args) const override {
    plain_->run(args);
    for_float_type(args.outputs[0].dtype, [&]<typename T>(T) {
      T* y = args.outputs[0].as<T>();
      const int64_t count = args.outputs[0].num_elements();
      for (int64_t i = 0; i < count; ++i) {
        const double sum = has_sum_ ? y[i] + args.inputs[kSum].as<T>()[i] : double{y[i]};
        y[i] = static_cast<T>(activation_(sum));
      }
    });
  }
  int64_t scratch_bytes() const override { return plain_->scratch_bytes(); }

 private:
  static constexpr size_t kSum = 3;
  std::unique_ptr<Kernel> plain_;
  ops::ActivationSpec activation_;
  bool has_sum_;
};

}  // namespace

extern const KernelDef kFusedConv = {.op = "FusedConv",
                                     .library = "reference",
                                     .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                       return std::make_unique<Fused>(node, kConv);
                                     }};
extern const KernelDef kFusedGemm = {.op = "FusedGemm",
                                     .library = "reference",
                                     .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
                                       return std::make_unique<Fused>(node, kGemm);
                                     }};

}  // namespace trainyard::kernels::reference
