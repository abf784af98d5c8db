// BatchNormalization, with given statistics or (training) those of the batch.
#include <cmath>

#include "engine/kernels/reference/nn/moments.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class BatchNormalization final : public Kernel {
 public:
  explicit BatchNormalization(const NodeView& node)
      : epsilon_(node.attr_float("epsilon", 1e-5F)),
        momentum_(node.attr_float("momentum", 0.9F)),
        training_(node.attr_int("training_mode", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t channels = shape[1];
    const int64_t inner = shape.num_elements(2, shape.rank());
    for (int64_t c = 0; c < channels; ++c) {
      Moments moments{float_at(args.inputs[3], c), float_at(args.inputs[4], c)};
      if (training_) {
        const Moments batch = channel_moments<T>(args.inputs[0], c);
        store_running(args, 1, c, moments.mean, batch.mean);
        store_running(args, 2, c, moments.variance, batch.variance);
        moments = batch;
      }
      const double scale = float_at(args.inputs[1], c) / std::sqrt(moments.variance + epsilon_);
      const double bias = float_at(args.inputs[2], c);
      for (int64_t n = 0; n < shape[0]; ++n) {
        const int64_t begin = (n * channels + c) * inner;
        const T* x = args.inputs[0].as<T>() + begin;
        T* y = args.outputs[0].as<T>() + begin;
        for (int64_t i = 0; i < inner; ++i) {
          y[i] = static_cast<T>((x[i] - moments.mean) * scale + bias);
        }
      }
    }
  }

  void store_running(const KernelArgs& args, size_t output, int64_t channel, double running,
                     double batch) const {
    const TensorView y = output_or_none(args, output);
    if (y.data == nullptr) return;
    store_float(y, channel, running * momentum_ + batch * (1.0 - momentum_));
  }

  double epsilon_;
  double momentum_;
  bool training_;
};

}  // namespace

extern const KernelDef kBatchNormalization =
    reference_kernel<BatchNormalization>("BatchNormalization");

}  // namespace trainyard::kernels::reference
