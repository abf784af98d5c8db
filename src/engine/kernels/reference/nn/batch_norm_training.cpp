// BatchNormTraining and BatchNormGrad, one channel at a time.
#include <cmath>
#include <limits>

#include "engine/kernels/api/exchange_kernel.h"
#include "engine/kernels/parallel/exchange.h"
#include "engine/kernels/reference/nn/moments.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::reference {
namespace {

// Calls visit(i) with the flat index of each element of a channel.
template <typename F>
void for_each_in_channel(const Shape& shape, int64_t channel, F&& visit) {
  for (int64_t i = 0; i < channel_size(shape); ++i) visit(channel_element(shape, channel, i));
}

// Two sums for each channel, over the images of this worker or of all.
class ChannelSums {
 public:
  explicit ChannelSums(const NodeView& node)
      : channels_(node.input_shape(0)[1]),
        images_(node.input_shape(0)[0]),
        all_images_(node.attr_int("all_images", 0)) {}

  int64_t scratch_bytes() const { return 2 * channels_ * static_cast<int64_t>(sizeof(double)); }
  // The images that are summed over.
  int64_t images(const ExchangeArgs& args) const {
    return exchange(args) != nullptr ? all_images_ : images_;
  }
  double share(const ExchangeArgs& args) const {
    return static_cast<double>(images_) / static_cast<double>(images(args));
  }

  // sum(channel, a, b) sets the two sums of this worker.
  template <typename Sum>
  std::span<const double> run(const ExchangeArgs& args, Sum&& sum) const {
    auto* sums = reinterpret_cast<double*>(args.scratch.data());
    for (int64_t c = 0; c < channels_; ++c) sum(c, sums[2 * c], sums[2 * c + 1]);
    const std::span<double> all(sums, static_cast<size_t>(2 * channels_));
    if (exchange(args) != nullptr) exchange(args)->sum(all);
    return all;
  }

 private:
  Exchange* exchange(const ExchangeArgs& args) const {
    return all_images_ > 0 ? args.exchange : nullptr;
  }

  int64_t channels_;
  int64_t images_;
  int64_t all_images_;
};

class BatchNormTraining final : public ExchangeKernel {
 public:
  explicit BatchNormTraining(const NodeView& node)
      : sums_(node),
        epsilon_(node.attr_float("epsilon", 1e-5F)),
        momentum_(node.attr_float("momentum", 0.9F)),
        fixed_statistics_(node.attr_int("fixed_statistics", 0) != 0),
        activation_(ops::activation_of(node)) {}

  int64_t scratch_bytes() const override { return sums_.scratch_bytes(); }
  void run_shared(const ExchangeArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const ExchangeArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const auto in = [&](size_t i, int64_t c) {
      return static_cast<double>(args.inputs[i].as<T>()[c]);
    };
    // Around the running mean, which all workers share, so that variances do not cancel.
    const auto own = static_cast<double>(channel_size(shape));
    const std::span<const double> sums =
        sums_.run(args, [&](int64_t c, double& first, double& second) {
          const Moments moments = channel_moments<T>(args.inputs[0], c);
          const double offset = moments.mean - in(3, c);
          first = own * offset;
          second = own * (moments.variance + offset * offset);
        });
    const double count = own / sums_.share(args);
    for (int64_t c = 0; c < shape[1]; ++c) {
      const double offset = sums[static_cast<size_t>(2 * c)] / count;
      Moments batch{.mean = in(3, c) + offset,
                    .variance = std::max(
                        0.0, sums[static_cast<size_t>(2 * c + 1)] / count - offset * offset)};
      if (fixed_statistics_) batch = {.mean = in(3, c), .variance = in(4, c)};
      const double factor = in(1, c) / std::sqrt(batch.variance + epsilon_);
      const bool adds = input_or_none(args, 5).data != nullptr;
      for_each_in_channel(shape, c, [&](int64_t i) {
        const double normalized = (in(0, i) - batch.mean) * factor + in(2, c);
        args.outputs[0].as<T>()[i] =
            static_cast<T>(activation_(normalized + (adds ? in(5, i) : 0.0)));
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

  ChannelSums sums_;
  double epsilon_;
  double momentum_;
  bool fixed_statistics_;
  ops::ActivationSpec activation_;
};

// With xhat = (x - mean) / s, s = sqrt(variance + epsilon), and means taken over the channel:
// dx = scale / s * (dz - mean(dz) - xhat * mean(dz * xhat)), dz being dy where y is strictly inside
// the activation's bounds. With fixed statistics dx = scale / s * dz.
class BatchNormGrad final : public ExchangeKernel {
 public:
  explicit BatchNormGrad(const NodeView& node)
      : sums_(node),
        epsilon_(node.attr_float("epsilon", 1e-5F)),
        fixed_statistics_(node.attr_int("fixed_statistics", 0) != 0) {
    const ops::ActivationSpec activation = ops::activation_of(node);
    if (activation.op == "Relu") low_ = 0.0;
    if (activation.op != "Clip") return;
    low_ = activation.alpha;
    high_ = activation.beta;
  }

  int64_t scratch_bytes() const override { return sums_.scratch_bytes(); }
  void run_shared(const ExchangeArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const ExchangeArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const auto in = [&](size_t i, int64_t at) {
      return static_cast<double>(args.inputs[i].as<T>()[at]);
    };
    const auto normalized = [&](int64_t c, int64_t i) {
      return (in(0, i) - in(2, c)) / std::sqrt(in(3, c) + epsilon_);
    };
    const auto dz = [&](int64_t c, int64_t i) {
      const double dy = in(4, i) + (input_or_none(args, 7).data != nullptr ? in(7, i) : 0.0);
      const bool has_y = input_or_none(args, 6).data != nullptr;
      if (!has_y && input_or_none(args, 5).data == nullptr) return dy;
      const double y = has_y ? in(6, i) : normalized(c, i) * in(1, c) + in(5, c);
      return low_ < y && y < high_ ? dy : 0.0;
    };
    const std::span<const double> sums =
        sums_.run(args, [&](int64_t c, double& dscale, double& dbias) {
          dscale = dbias = 0;
          for_each_in_channel(shape, c, [&](int64_t i) {
            dscale += dz(c, i) * normalized(c, i);
            dbias += dz(c, i);
          });
        });
    const auto count =
        static_cast<double>(sums_.images(args) * shape.num_elements(2, shape.rank()));
    T* residual = output_or_none(args, 3).as<T>();
    for (int64_t c = 0; c < shape[1]; ++c) {
      const double dscale = sums[static_cast<size_t>(2 * c)];
      const double dbias = sums[static_cast<size_t>(2 * c + 1)];
      const double factor = in(1, c) / std::sqrt(in(3, c) + epsilon_);
      for_each_in_channel(shape, c, [&](int64_t i) {
        const double passed = dz(c, i);
        const double through_statistics =
            fixed_statistics_ ? 0 : dbias / count + normalized(c, i) * dscale / count;
        args.outputs[0].as<T>()[i] = static_cast<T>(factor * (passed - through_statistics));
        if (residual != nullptr) residual[i] = static_cast<T>(passed);
      });
      args.outputs[1].as<T>()[c] = static_cast<T>(sums_.share(args) * dscale);
      args.outputs[2].as<T>()[c] = static_cast<T>(sums_.share(args) * dbias);
    }
  }

  ChannelSums sums_;
  double epsilon_;
  bool fixed_statistics_;
  double low_ = -std::numeric_limits<double>::infinity();
  double high_ = std::numeric_limits<double>::infinity();
};

}  // namespace

extern const KernelDef kBatchNormTraining =
    reference_kernel<BatchNormTraining>("BatchNormTraining");
extern const KernelDef kBatchNormGrad = reference_kernel<BatchNormGrad>("BatchNormGrad");

}  // namespace trainyard::kernels::reference
