// BatchNormGrad on blocks of eight channels: one pass for the two sums and one for dx, block by
// block, so that the second finds a block in the cache. With fixed statistics dx does not depend on
// the sums, and the first pass writes it.

#include "engine/kernels/api/exchange_kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/clamp.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/norm/channel_sums.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

enum Input : size_t { kX, kScale, kMean, kVariance, kDy, kBias, kY, kMoreDy };
enum Output : size_t { kDx, kDScale, kDBias, kDSum };

// Where the gradient passes the activation.
enum class Mask : uint8_t {
  kNone,
  kAgain,  // y is computed again from x
  kFromY,
};

std::string_view refuses_batch_norm_grad(const NodeView& node) {
  if (const std::string_view reason = refuses_channel_sums(node); !reason.empty()) return reason;
  if (node.has_input(kMoreDy) && !node.has_output(kDSum)) {
    return "a sum of gradients is taken only where it is kept";
  }
  return refuses_clamp(node, node.input_shape(0)[1]);
}

class BatchNormGrad final : public ExchangeKernel {
 public:
  BatchNormGrad(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0)[1]),
        x_(planes_of(node.input_shape(0), layouts.inputs[kX])),
        dy_(planes_of(node.input_shape(0), layouts.inputs[kDy])),
        dx_(planes_of(node.input_shape(0), layouts.outputs[kDx])),
        epsilon_(node.attr_float("epsilon", 1e-5F)),
        all_images_(node.attr_int("all_images", 0)),
        fixed_statistics_(node.attr_int("fixed_statistics", 0) != 0),
        clamp_(clamp_of(node)),
        stores_sum_gradient_(node.has_output(kDSum)) {
    if (node.has_attr("activation")) mask_ = node.has_input(kY) ? Mask::kFromY : Mask::kAgain;
    if (mask_ == Mask::kFromY) y_ = planes_of(node.input_shape(0), layouts.inputs[kY]);
    if (node.has_input(kMoreDy)) {
      more_dy_ = planes_of(node.input_shape(0), layouts.inputs[kMoreDy]);
    }
    if (stores_sum_gradient_) {
      dsum_ = planes_of(node.input_shape(0), layouts.outputs[kDSum]);
    }
  }

  void run_shared(const ExchangeArgs& args) const override {
    if (fixed_statistics_) {
      run_masked<true>(args);
    } else {
      run_masked<false>(args);
    }
  }

  int64_t scratch_bytes() const override { return channel_sums_scratch<Factors>(x_); }

 private:
  // dx = factor * (dz - mean_dz - (x - mean) * slope), z = (x - mean) * factor + bias.
  struct Factors {
    float mean[kLanes];
    float factor[kLanes];
    float bias[kLanes];
    float mean_dz[kLanes];
    float slope[kLanes];
  };

  template <bool kFixed>
  void run_masked(const ExchangeArgs& args) const {
    if (mask_ == Mask::kNone) run_with<kFixed, Mask::kNone, false>(args);
    if (mask_ == Mask::kAgain) run_with<kFixed, Mask::kAgain, false>(args);
    if (mask_ != Mask::kFromY) return;
    if (stores_sum_gradient_ && more_dy_.image_stride != 0) {
      run_with<kFixed, Mask::kFromY, true, true>(args);
    } else if (stores_sum_gradient_) {
      run_with<kFixed, Mask::kFromY, true>(args);
    } else {
      run_with<kFixed, Mask::kFromY, false>(args);
    }
  }

  template <bool kFixed, Mask kMask, bool kStores, bool kAdds = false>
  void run_with(const ExchangeArgs& args) const {
    const ChannelSums steps{
        [&](int64_t plane) { return forward_factors(args, plane); },
        [&](int64_t image, int64_t plane, const Factors& factors, Sums& partial) {
          sum_piece<kFixed, kMask, kStores, kAdds>(piece(args, image, plane), factors, partial);
        },
        [&](int64_t plane, const Sums& total, Factors& factors) {
          finish(args, plane, total, factors);
        },
        [&](int64_t image, int64_t plane, const Factors& factors) {
          if (!kFixed) find_dx<kMask, kStores>(piece(args, image, plane), factors);
        }};
    run_channel_sums<Factors>(x_, args.scratch, exchange(args), steps);
  }

  // With the other workers; null: the sums are this one's own.
  Exchange* exchange(const ExchangeArgs& args) const {
    return all_images_ > 0 ? args.exchange : nullptr;
  }

  Factors forward_factors(const ExchangeArgs& args, int64_t plane) const {
    Factors factors = {};
    for (int64_t lane = 0; lane < kLanes && plane * kLanes + lane < channels_; ++lane) {
      const int64_t c = plane * kLanes + lane;
      factors.mean[lane] = args.inputs[kMean].as<float>()[c];
      factors.factor[lane] = static_cast<float>(args.inputs[kScale].as<float>()[c] /
                                                std::sqrt(variance(args, c) + epsilon_));
      if (mask_ == Mask::kAgain) factors.bias[lane] = args.inputs[kBias].as<float>()[c];
    }
    return factors;
  }

  static double variance(const ExchangeArgs& args, int64_t c) {
    return static_cast<double>(args.inputs[kVariance].as<float>()[c]);
  }

  // Pointers to one plane of one image of all operands.
  struct Piece {
    const float* x;
    const float* dy;
    const float* y = nullptr;
    const float* more_dy = nullptr;
    float* dx;
    float* dsum = nullptr;
  };

  Piece piece(const ExchangeArgs& args, int64_t image, int64_t plane) const {
    const int64_t at = plane * x_.plane_elements();
    Piece p{.x = args.inputs[kX].as<float>() + image * x_.image_stride + at,
            .dy = args.inputs[kDy].as<float>() + image * dy_.image_stride + at,
            .dx = args.outputs[kDx].as<float>() + image * dx_.image_stride + at};
    if (mask_ == Mask::kFromY) {
      p.y = args.inputs[kY].as<float>() + image * y_.image_stride + at;
    }
    if (more_dy_.image_stride != 0) {
      p.more_dy = args.inputs[kMoreDy].as<float>() + image * more_dy_.image_stride + at;
    }
    if (stores_sum_gradient_) {
      p.dsum = args.outputs[kDSum].as<float>() + image * dsum_.image_stride + at;
    }
    return p;
  }

  // The gradient of what went into the activation.
  template <Mask kMask, bool kAdds = false>
  static __m256 masked(const ClampVectors& clamp, const Piece& p, int64_t at, __m256 centered,
                       __m256 factor, __m256 bias) {
    __m256 dy = _mm256_loadu_ps(p.dy + at);
    if (kAdds) dy = _mm256_add_ps(dy, _mm256_loadu_ps(p.more_dy + at));
    if (kMask == Mask::kNone) return dy;
    const __m256 y =
        kMask == Mask::kFromY ? _mm256_loadu_ps(p.y + at) : _mm256_fmadd_ps(centered, factor, bias);
    return _mm256_and_ps(dy, clamp.passes(y));
  }

  template <bool kFixed, Mask kMask, bool kStores, bool kAdds>
  void sum_piece(const Piece& p, const Factors& factors, Sums& partial) const {
    const __m256 mean = _mm256_loadu_ps(factors.mean);
    const __m256 factor = _mm256_loadu_ps(factors.factor);
    const __m256 bias = _mm256_loadu_ps(factors.bias);
    const ClampVectors clamp(clamp_);
    for_each_chunk(x_.positions, [&](int64_t begin, int64_t end) {
      LaneSums sums;
      sums.run(begin, end, [&](int64_t at, __m256* out) {
        const __m256 centered = _mm256_sub_ps(_mm256_loadu_ps(p.x + at), mean);
        const __m256 dz = masked<kMask, kAdds>(clamp, p, at, centered, factor, bias);
        if (kStores) _mm256_storeu_ps(p.dsum + at, dz);
        if (kFixed) _mm256_storeu_ps(p.dx + at, _mm256_mul_ps(dz, factor));
        out[0] = _mm256_add_ps(out[0], dz);
        out[1] = _mm256_fmadd_ps(dz, centered, out[1]);
      });
      sums.add_to(partial);
    });
  }

  void finish(const ExchangeArgs& args, int64_t plane, const Sums& total, Factors& factors) const {
    const int64_t images = exchange(args) != nullptr ? all_images_ : x_.images;
    const auto count = static_cast<double>(images * x_.positions);
    const double share = static_cast<double>(x_.images) / static_cast<double>(images);
    for (int64_t lane = 0; lane < kLanes && plane * kLanes + lane < channels_; ++lane) {
      const int64_t c = plane * kLanes + lane;
      const double power = variance(args, c) + epsilon_;
      if (!fixed_statistics_) {
        factors.mean_dz[lane] = static_cast<float>(total.of[0][lane] / count);
        factors.slope[lane] = static_cast<float>(total.of[1][lane] / power / count);
      }
      args.outputs[kDScale].as<float>()[c] =
          static_cast<float>(share * total.of[1][lane] / std::sqrt(power));
      args.outputs[kDBias].as<float>()[c] = static_cast<float>(share * total.of[0][lane]);
    }
  }

  template <Mask kMask, bool kStores>
  void find_dx(Piece p, const Factors& factors) const {
    // The first pass has masked it.
    if (kStores) p.dy = p.dsum;
    constexpr Mask kRest = kStores ? Mask::kNone : kMask;
    const __m256 mean = _mm256_loadu_ps(factors.mean);
    const __m256 factor = _mm256_loadu_ps(factors.factor);
    const __m256 bias = _mm256_loadu_ps(factors.bias);
    const __m256 mean_dz = _mm256_loadu_ps(factors.mean_dz);
    const __m256 slope = _mm256_loadu_ps(factors.slope);
    const ClampVectors clamp(clamp_);
    for (int64_t at = 0; at < x_.plane_elements(); at += kLanes) {
      const __m256 centered = _mm256_sub_ps(_mm256_loadu_ps(p.x + at), mean);
      const __m256 dz = masked<kRest>(clamp, p, at, centered, factor, bias);
      const __m256 rest = _mm256_fnmadd_ps(centered, slope, _mm256_sub_ps(dz, mean_dz));
      _mm256_storeu_ps(p.dx + at, _mm256_mul_ps(rest, factor));
    }
  }

  int64_t channels_;
  Planes x_;
  Planes dy_;
  Planes dx_;
  Planes y_;
  Planes dsum_;
  Planes more_dy_;  // without a stride if there is none
  double epsilon_;
  int64_t all_images_;
  bool fixed_statistics_;
  Activation clamp_;
  bool stores_sum_gradient_;
  Mask mask_ = Mask::kNone;
};

std::optional<NodeLayouts> layouts_batch_norm_grad(const NodeView& node,
                                                   std::span<const Layout> /*inputs*/) {
  const Layout blocks = Layout::channel_blocks(node.input_shape(0), kLanes);
  NodeLayouts wanted{
      .inputs = {}, .outputs = {}, .takes_parts = true, .in_place_input = static_cast<int>(kDy)};
  wanted.inputs.resize(node.num_inputs());
  wanted.outputs.resize(node.num_outputs());
  for (const size_t i : {kX, kDy, kY, kMoreDy}) {
    if (i < node.num_inputs()) wanted.inputs[i] = blocks;
  }
  for (const size_t i : {kDx, kDSum}) {
    if (i < node.num_outputs()) wanted.outputs[i] = blocks;
  }
  return wanted;
}

std::unique_ptr<Kernel> create_batch_norm_grad(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<BatchNormGrad>(node, layouts);
}

}  // namespace

extern const KernelDef kBatchNormGrad = {.op = "BatchNormGrad",
                                         .library = "native",
                                         .refuses = refuses_batch_norm_grad,
                                         .layouts = layouts_batch_norm_grad,
                                         .create_in = create_batch_norm_grad};

}  // namespace trainyard::kernels::native
