// ScaleShift on vectors: reads and writes each element once.
#include <algorithm>
#include <limits>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/math/activation.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_scale_shift(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_constant(1) == nullptr || node.input_constant(2) == nullptr) {
    return "scale or shift is not constant";
  }
  const std::string activation = node.attr_text("activation", "");
  if (!activation.empty() && activation != "Relu" && activation != "Clip") {
    return "only Relu and Clip are applied";
  }
  return "";
}

// y = clamp(x * scale + shift); scale and shift repeat every kPeriod vectors.
template <int kPeriod>
void scale_run(const float* x, float* y, int64_t count, const float* scale, const float* shift,
               float low, float high) {
  __m256 s[kPeriod];
  __m256 t[kPeriod];
  for (int j = 0; j < kPeriod; ++j) {
    s[j] = _mm256_loadu_ps(scale + j * kVector);
    t[j] = _mm256_loadu_ps(shift + j * kVector);
  }
  const __m256 lo = _mm256_set1_ps(low);
  const __m256 hi = _mm256_set1_ps(high);
  int64_t i = 0;
  for (; i + kPeriod * kVector <= count; i += kPeriod * kVector) {
    for (int j = 0; j < kPeriod; ++j) {
      const __m256 v = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + j * kVector), s[j], t[j]);
      _mm256_storeu_ps(y + i + j * kVector, _mm256_min_ps(_mm256_max_ps(v, lo), hi));
    }
  }
  // Row-major planes only: blocks are whole vectors.
  for (; i < count; ++i) {
    const float v = x[i] * scale[i % kVector] + shift[i % kVector];
    y[i] = std::min(std::max(v, low), high);
  }
}

class ScaleShift final : public Kernel {
 public:
  ScaleShift(const NodeView& node, const NodeLayouts& layouts)
      : x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.input_shape(0), layouts.outputs[0])),
        period_(std::max(kVector, x_.block)),
        scale_(x_.planes * period_),
        shift_(x_.planes * period_) {
    // Row-major planes hold one channel, whose numbers are repeated to fill a vector.
    const int64_t channels = node.input_shape(0)[1];
    for (int64_t i = 0; i < x_.planes * period_; ++i) {
      const int64_t channel = x_.block == 1 ? i / kVector : i;
      if (channel >= channels) continue;
      scale_.data()[i] = node.input_constant(1)->values<float>()[static_cast<size_t>(channel)];
      shift_.data()[i] = node.input_constant(2)->values<float>()[static_cast<size_t>(channel)];
    }
    const ops::ActivationSpec activation = ops::activation_of(node);
    if (activation.op == "Relu") low_ = 0.0F;
    if (activation.op == "Clip") {
      low_ = activation.alpha;
      high_ = activation.beta;
    }
  }

  void run(const KernelArgs& args) const override {
    parallel_for(x_.images * x_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / x_.planes;
        const int64_t plane = i % x_.planes;
        const int64_t at = plane * x_.plane_elements();
        const auto run_plane = period_ == kVector ? scale_run<1> : scale_run<2>;
        run_plane(args.inputs[0].as<float>() + image * x_.image_stride + at,
                  args.outputs[0].as<float>() + image * y_.image_stride + at, x_.plane_elements(),
                  scale_.data() + plane * period_, shift_.data() + plane * period_, low_, high_);
      }
    });
  }
  bool holds_input(size_t input) const override { return input != 0; }

 private:
  Planes x_;
  Planes y_;
  int64_t period_;  // elements after which scale and shift repeat
  PackedBuffer scale_;
  PackedBuffer shift_;
  float low_ = -std::numeric_limits<float>::infinity();
  float high_ = std::numeric_limits<float>::infinity();
};

std::optional<NodeLayouts> layouts_scale_shift(const NodeView& node,
                                               std::span<const Layout> inputs) {
  const Shape& shape = node.input_shape(0);
  const int64_t block = inputs[0].block_of(1);
  const bool blocked = has_planes(shape, inputs[0]) && (block == kVector || block == 2 * kVector) &&
                       (shape[1] % block == 0 || ops::activation_of(node)(0.0) == 0.0);
  const Layout layout = blocked ? Layout::channel_blocks(shape, block) : Layout();
  return NodeLayouts{
      .inputs = {layout, {}, {}}, .outputs = {layout}, .takes_parts = blocked, .in_place_input = 0};
}

std::unique_ptr<Kernel> create_scale_shift(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<ScaleShift>(node, layouts);
}

}  // namespace

extern const KernelDef kScaleShift = {.op = "ScaleShift",
                                      .library = "native",
                                      .refuses = refuses_scale_shift,
                                      .layouts = layouts_scale_shift,
                                      .create_in = create_scale_shift};

}  // namespace trainyard::kernels::native
