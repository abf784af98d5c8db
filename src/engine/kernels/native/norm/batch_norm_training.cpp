// BatchNormTraining on blocks of eight channels: one pass for the statistics and one for the
// result, block by block, so that the second finds a block in the cache.

#include "engine/kernels/api/exchange_kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/clamp.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/norm/channel_sums.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_batch_norm_training(const NodeView& node) {
  if (const std::string_view reason = refuses_channel_sums(node); !reason.empty()) return reason;
  return refuses_clamp(node, node.input_shape(0)[1]);
}

class BatchNormTraining final : public ExchangeKernel {
 public:
  BatchNormTraining(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0)[1]),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.input_shape(0), layouts.outputs[0])),
        epsilon_(node.attr_float("epsilon", 1e-5F)),
        momentum_(node.attr_float("momentum", 0.9F)),
        all_images_(node.attr_int("all_images", 0)),
        fixed_statistics_(node.attr_int("fixed_statistics", 0) != 0),
        clamp_(clamp_of(node)) {
    if (node.has_input(kResidual)) {
      residual_ = planes_of(node.input_shape(0), layouts.inputs[kResidual]);
    }
  }

  void run_shared(const ExchangeArgs& args) const override {
    const bool adds = args.inputs.size() > kResidual && args.inputs[kResidual].data != nullptr;
    const ChannelSums steps{
        [&](int64_t plane) { return around(args, plane); },
        [&](int64_t image, int64_t plane, const Factors& factors, Sums& partial) {
          if (!fixed_statistics_) sum_piece(args, image, plane, factors, partial);
        },
        [&](int64_t plane, const Sums& total, Factors& factors) {
          find_statistics(args, plane, total, factors);
        },
        [&](int64_t image, int64_t plane, const Factors& factors) {
          if (adds) {
            normalize<true>(args, image, plane, factors);
          } else {
            normalize<false>(args, image, plane, factors);
          }
        }};
    run_channel_sums<Factors>(x_, args.scratch, exchange(args), steps);
  }

  int64_t scratch_bytes() const override { return channel_sums_scratch<Factors>(x_); }

 private:
  static constexpr size_t kResidual = 5;

  struct Factors {
    float mean[kLanes];
    float factor[kLanes];
    float bias[kLanes];
  };

  // With the other workers; null: the statistics are this one's own.
  Exchange* exchange(const ExchangeArgs& args) const {
    return all_images_ > 0 ? args.exchange : nullptr;
  }

  // A mean to begin with, near the true one, so that the sum of squares around it does not cancel:
  // the first position of the first image, or, as all workers must take the same, the running mean.
  Factors around(const ExchangeArgs& args, int64_t plane) const {
    Factors factors = {};
    if (exchange(args) == nullptr) {
      std::copy_n(args.inputs[0].as<float>() + plane * x_.plane_elements(), kLanes, factors.mean);
    } else {
      const int64_t first = plane * kLanes;
      std::copy_n(args.inputs[3].as<float>() + first, std::min(kLanes, channels_ - first),
                  factors.mean);
    }
    return factors;
  }

  void sum_piece(const ExchangeArgs& args, int64_t image, int64_t plane, const Factors& around,
                 Sums& partial) const {
    const float* x =
        args.inputs[0].as<float>() + image * x_.image_stride + plane * x_.plane_elements();
    const __m256 k = _mm256_loadu_ps(around.mean);
    for_each_chunk(x_.positions, [&](int64_t begin, int64_t end) {
      LaneSums sums;
      sums.run(begin, end, [&](int64_t at, __m256* out) {
        const __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + at), k);
        out[0] = _mm256_add_ps(out[0], v);
        out[1] = _mm256_fmadd_ps(v, v, out[1]);
      });
      sums.add_to(partial);
    });
  }

  void find_statistics(const ExchangeArgs& args, int64_t plane, const Sums& total,
                       Factors& factors) const {
    const int64_t images = exchange(args) != nullptr ? all_images_ : x_.images;
    const auto count = static_cast<double>(images * x_.positions);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t c = plane * kLanes + lane;
      if (c >= channels_) {
        factors.mean[lane] = factors.factor[lane] = factors.bias[lane] = 0.0F;
        continue;
      }
      const double offset = total.of[0][lane] / count;
      double mean = factors.mean[lane] + offset;
      double variance = std::max(0.0, total.of[1][lane] / count - offset * offset);
      if (fixed_statistics_) {
        mean = static_cast<double>(args.inputs[3].as<float>()[c]);
        variance = static_cast<double>(args.inputs[4].as<float>()[c]);
      }
      factors.mean[lane] = static_cast<float>(mean);
      factors.factor[lane] =
          static_cast<float>(args.inputs[1].as<float>()[c] / std::sqrt(variance + epsilon_));
      factors.bias[lane] = args.inputs[2].as<float>()[c];
      store(args, 1, c, mean);
      store(args, 2, c, variance);
      store(args, 3, c, args.inputs[3].as<float>()[c] * momentum_ + mean * (1 - momentum_));
      store(args, 4, c, args.inputs[4].as<float>()[c] * momentum_ + variance * (1 - momentum_));
    }
  }

  static void store(const ExchangeArgs& args, size_t output, int64_t c, double value) {
    float* to = args.outputs[output].as<float>();
    if (to != nullptr) to[c] = static_cast<float>(value);
  }

  template <bool kAdds>
  void normalize(const ExchangeArgs& args, int64_t image, int64_t plane,
                 const Factors& factors) const {
    const int64_t at = plane * x_.plane_elements();
    const float* x = args.inputs[0].as<float>() + image * x_.image_stride + at;
    const float* residual = nullptr;
    if (kAdds) {
      residual = args.inputs[kResidual].as<float>() + image * residual_.image_stride + at;
    }
    float* y = args.outputs[0].as<float>() + image * y_.image_stride + at;
    const __m256 mean = _mm256_loadu_ps(factors.mean);
    const __m256 factor = _mm256_loadu_ps(factors.factor);
    const __m256 bias = _mm256_loadu_ps(factors.bias);
    const ClampVectors clamp(clamp_);
    const auto at_position = [&](int64_t i) {
      const __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + i), mean);
      __m256 result = _mm256_fmadd_ps(v, factor, bias);
      if (kAdds) result = _mm256_add_ps(result, _mm256_loadu_ps(residual + i));
      return clamp(result);
    };
    if (streams(args, y)) {
      for (int64_t i = 0; i < x_.plane_elements(); i += kLanes) {
        _mm256_stream_ps(y + i, at_position(i));
      }
      _mm_sfence();
    } else {
      for (int64_t i = 0; i < x_.plane_elements(); i += kLanes) {
        _mm256_storeu_ps(y + i, at_position(i));
      }
    }
  }

  // A result that does not fit into the caches is written past them: a line that is written as a
  // whole need not be read first.
  bool streams(const ExchangeArgs& args, const float* y) const {
    constexpr int64_t kTooLarge = int64_t{32} << 20;
    constexpr uintptr_t kAligned = sizeof(__m256) - 1;
    return y_.images * y_.image_elements() * static_cast<int64_t>(sizeof(float)) > kTooLarge &&
           args.inputs[0].data != args.outputs[0].data &&
           (reinterpret_cast<uintptr_t>(y) & kAligned) == 0;
  }

  int64_t channels_;
  Planes x_;
  Planes y_;
  Planes residual_;
  double epsilon_;
  double momentum_;
  int64_t all_images_;
  bool fixed_statistics_;
  Activation clamp_;
};

std::optional<NodeLayouts> layouts_batch_norm_training(const NodeView& node,
                                                       std::span<const Layout> /*inputs*/) {
  const Layout blocks = Layout::channel_blocks(node.input_shape(0), kLanes);
  NodeLayouts wanted{.inputs = {blocks, {}, {}, {}, {}},
                     .outputs = {blocks, {}, {}, {}, {}},
                     .takes_parts = true,
                     .in_place_input = 0};
  wanted.inputs.resize(node.num_inputs(), blocks);
  return wanted;
}

std::unique_ptr<Kernel> create_batch_norm_training(const NodeView& node,
                                                   const NodeLayouts& layouts) {
  return std::make_unique<BatchNormTraining>(node, layouts);
}

}  // namespace

extern const KernelDef kBatchNormTraining = {.op = "BatchNormTraining",
                                             .library = "native",
                                             .refuses = refuses_batch_norm_training,
                                             .layouts = layouts_batch_norm_training,
                                             .create_in = create_batch_norm_training};

}  // namespace trainyard::kernels::native
