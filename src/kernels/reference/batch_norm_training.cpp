// BatchNormTraining and BatchNormGrad, one channel at a time.
#include <cmath>

#include "kernels/reference/moments.h"
#include "kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Calls visit(i) with the flat index of each element of a channel.
template <typename F>
void for_each_in_channel(const Shape& shape, int64_t channel, F&& visit) {
  for (int64_t i = 0; i < channel_size(shape); ++i) visit(channel_element(shape, channel, i));
}

class BatchNormTraining final : public Kernel {
 public:
  explicit BatchNormTraining(const NodeView& node)
      : epsilon_(node.attr_float("epsilon", 1e-5F)), momentum_(node.attr_float("momentum", 0.9F)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const auto in = [&](size_t i, int64_t c) {
      return static_cast<double>(args.inputs[i].as<T>()[c]);
    };
    for (int64_t c = 0; c < shape[1]; ++c) {
      const Moments batch = channel_moments<T>(args.inputs[0], c);
      const double factor = in(1, c) / std::sqrt(batch.variance + epsilon_);
      for_each_in_channel(shape, c, [&](int64_t i) {
        args.outputs[0].as<T>()[i] = static_cast<T>((in(0, i) - batch.mean) * factor + in(2, c));
      });
      const auto running = [&](size_t i, double now) {
        return in(i, c) * momentum_ + now * (1.0 - momentum_);
      };
      args.outputs[1].as<T>()[c] = static_cast<T>(batch.mean);
      args.outputs[2].as<T>()[c] = static_cast<T>(batch.variance);
      args.outputs[3].as<T>()[c] = static_cast<T>(running(3, batch.mean));
      args.outputs[4].as<T>()[c] = static_cast<T>(running(4, batch.variance));
    }
  }

  double epsilon_;
  double momentum_;
};

// With xhat = (x - mean) / s, s = sqrt(variance + epsilon), and means taken over the channel:
// dx = scale / s * (dy - mean(dy) - xhat * mean(dy * xhat)).
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const NodeView& node) : epsilon_(node.attr_float("epsilon", 1e-5F)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const auto count = static_cast<double>(shape[0] * shape.num_elements(2, shape.rank()));
    const auto in = [&](size_t i, int64_t at) {
      return static_cast<double>(args.inputs[i].as<T>()[at]);
    };
    for (int64_t c = 0; c < shape[1]; ++c) {
      const double deviation = std::sqrt(in(3, c) + epsilon_);
      const auto normalised = [&](int64_t i) { return (in(0, i) - in(2, c)) / deviation; };
      double dscale = 0;
      double dbias = 0;
      for_each_in_channel(shape, c, [&](int64_t i) {
        dscale += in(4, i) * normalised(i);
        dbias += in(4, i);
      });
      const double factor = in(1, c) / deviation;
      for_each_in_channel(shape, c, [&](int64_t i) {
        args.outputs[0].as<T>()[i] =
            static_cast<T>(factor * (in(4, i) - dbias / count - normalised(i) * dscale / count));
      });
      args.outputs[1].as<T>()[c] = static_cast<T>(dscale);
      args.outputs[2].as<T>()[c] = static_cast<T>(dbias);
    }
  }

  double epsilon_;
};

}  // namespace

extern const KernelDef kBatchNormTraining =
    reference_kernel<BatchNormTraining>("BatchNormTraining");
extern const KernelDef kBatchNormGrad = reference_kernel<BatchNormGrad>("BatchNormGrad");

}  // namespace trainyard::kernels::reference
