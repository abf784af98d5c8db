// BatchNormTraining and BatchNormGrad, one channel at a time.
#include <cmath>
#include <limits>

#include "kernels/reference/moments.h"
#include "kernels/reference/operands.h"
#include "kernels/reference/reference.h"
#include "ops/activation.h"

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
      : epsilon_(node.attr_float("epsilon", 1e-5F)),
        momentum_(node.attr_float("momentum", 0.9F)),
        activation_(ops::activation_of(node)) {}

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
      const bool adds = input_or_none(args, 5).data != nullptr;
      for_each_in_channel(shape, c, [&](int64_t i) {
        const double normalised = (in(0, i) - batch.mean) * factor + in(2, c);
        args.outputs[0].as<T>()[i] =
            static_cast<T>(activation_(normalised + (adds ? in(5, i) : 0.0)));
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
  ops::ActivationSpec activation_;
};

// With xhat = (x - mean) / s, s = sqrt(variance + epsilon), and means taken over the channel:
// dx = scale / s * (dz - mean(dz) - xhat * mean(dz * xhat)), dz being dy where y is strictly inside
// the activation's bounds.
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const NodeView& node) : epsilon_(node.attr_float("epsilon", 1e-5F)) {
    const ops::ActivationSpec activation = ops::activation_of(node);
    if (activation.op == "Relu") low_ = 0.0;
    if (activation.op != "Clip") return;
    low_ = activation.alpha;
    high_ = activation.beta;
  }

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
      const auto dy = [&](int64_t i) {
        return in(4, i) + (input_or_none(args, 7).data != nullptr ? in(7, i) : 0.0);
      };
      const auto dz = [&](int64_t i) {
        const bool has_y = input_or_none(args, 6).data != nullptr;
        if (!has_y && input_or_none(args, 5).data == nullptr) return dy(i);
        const double y = has_y ? in(6, i) : normalised(i) * in(1, c) + in(5, c);
        return low_ < y && y < high_ ? dy(i) : 0.0;
      };
      double dscale = 0;
      double dbias = 0;
      for_each_in_channel(shape, c, [&](int64_t i) {
        dscale += dz(i) * normalised(i);
        dbias += dz(i);
      });
      const double factor = in(1, c) / deviation;
      T* residual = output_or_none(args, 3).as<T>();
      for_each_in_channel(shape, c, [&](int64_t i) {
        args.outputs[0].as<T>()[i] =
            static_cast<T>(factor * (dz(i) - dbias / count - normalised(i) * dscale / count));
        if (residual != nullptr) residual[i] = static_cast<T>(dz(i));
      });
      args.outputs[1].as<T>()[c] = static_cast<T>(dscale);
      args.outputs[2].as<T>()[c] = static_cast<T>(dbias);
    }
  }

  double epsilon_;
  double low_ = -std::numeric_limits<double>::infinity();
  double high_ = std::numeric_limits<double>::infinity();
};

}  // namespace

extern const KernelDef kBatchNormTraining =
    reference_kernel<BatchNormTraining>("BatchNormTraining");
extern const KernelDef kBatchNormGrad = reference_kernel<BatchNormGrad>("BatchNormGrad");

}  // namespace trainyard::kernels::reference
