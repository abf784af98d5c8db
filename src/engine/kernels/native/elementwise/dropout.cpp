// DropoutTraining, row-major or on blocks of channels: the mask of an element follows from its
// index alone, so forward and backward may lie differently.
#include <cmath>

#include "base/random.h"
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/elementwise.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_dropout(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

// RandomStream::bits() of four neighbors at a time, without their low eleven bits.
class RandomBits {
 public:
  RandomBits(uint64_t seed, uint64_t key, uint64_t first) {
    alignas(32) uint64_t lanes[kLanes];
    for (uint64_t i = 0; i < kLanes; ++i) {
      lanes[i] = mix_bits(seed ^ mix_bits(key)) + (first + i) * kStride;
    }
    counters_ = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
  }

  // As mix_bits() does.
  __m256i next() {
    __m256i x = _mm256_add_epi64(counters_, all(kStride));
    counters_ = _mm256_add_epi64(counters_, all(kLanes * kStride));
    x = times_64(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), 0xbf58476d1ce4e5b9ULL);
    x = times_64(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), 0x94d049bb133111ebULL);
    return _mm256_srli_epi64(_mm256_xor_si256(x, _mm256_srli_epi64(x, 31)), 11);
  }

 private:
  static constexpr uint64_t kLanes = 4;
  static constexpr uint64_t kStride = 0x9e3779b97f4a7c15ULL;

  static __m256i all(uint64_t value) { return _mm256_set1_epi64x(static_cast<int64_t>(value)); }
  // The low 64 bits of the product, of products of halves.
  static __m256i times_64(__m256i x, uint64_t factor) {
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(x, all(factor >> 32)),
                                           _mm256_mul_epu32(_mm256_srli_epi64(x, 32), all(factor)));
    return _mm256_add_epi64(_mm256_mul_epu32(x, all(factor)), _mm256_slli_epi64(cross, 32));
  }

  __m256i counters_;
};

class Dropout final : public Kernel {
 public:
  Dropout(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0).rank() < 2 ? 1 : node.input_shape(0)[1]),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.input_shape(0), layouts.outputs[0])),
        least_(static_cast<uint64_t>(
            std::ceil(std::ldexp(double{node.attr_float("ratio", 0)}, kUniformBits)))),
        factor_(static_cast<float>(1.0 / (1.0 - double{node.attr_float("ratio", 0)}))),
        seed_(static_cast<uint64_t>(node.attr_int("seed", 0))),
        first_(node.attr_int("first", 0)) {}

  void run(const KernelArgs& args) const override {
    const auto step = static_cast<uint64_t>(*args.inputs[1].as<int64_t>());
    const RandomStream stream(seed_, step);
    if (x_.block == 1 && x_.image_stride == x_.image_elements() &&
        y_.image_stride == x_.image_stride) {
      return run_dense(step, args.inputs[0].as<float>(), args.outputs[0].as<float>());
    }
    parallel_for(x_.images * x_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / x_.planes;
        const int64_t plane = i % x_.planes;
        const int64_t at = plane * x_.plane_elements();
        const int64_t first = (image * channels_ + plane * x_.block) * x_.positions;
        run_plane(stream, args.inputs[0].as<float>() + image * x_.image_stride + at,
                  args.outputs[0].as<float>() + image * y_.image_stride + at, first);
      }
    });
  }

 private:
  // RandomStream::uniform() has so many.
  static constexpr int kUniformBits = 53;

  // Eight elements at a time. A remainder is drawn one by one.
  void run_dense(uint64_t step, const float* x, float* y) const {
    const int64_t count = x_.images * x_.image_elements();
    parallel_for((count + kVector - 1) / kVector, [&](int64_t begin, int64_t end) {
      const __m256 factor = _mm256_set1_ps(factor_);
      RandomBits drawn(seed_, step, static_cast<uint64_t>(first_ + begin * kVector));
      const __m256i least = _mm256_set1_epi64x(static_cast<int64_t>(least_) - 1);
      const int64_t last = std::min(end * kVector, count);
      int64_t i = begin * kVector;
      for (; i + kVector <= last; i += kVector) {
        const __m256i low = _mm256_cmpgt_epi64(drawn.next(), least);
        const __m256i high = _mm256_cmpgt_epi64(drawn.next(), least);
        const __m256 pairs = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                                               _MM_SHUFFLE(2, 0, 2, 0));
        const __m256 kept = _mm256_castpd_ps(
            _mm256_permute4x64_pd(_mm256_castps_pd(pairs), _MM_SHUFFLE(3, 1, 2, 0)));
        _mm256_storeu_ps(y + i, _mm256_and_ps(kept, _mm256_mul_ps(_mm256_loadu_ps(x + i), factor)));
      }
      const RandomStream stream(seed_, step);
      for (; i < last; ++i) y[i] = is_kept(stream, i) ? x[i] * factor_ : 0.0F;
    });
  }

  bool is_kept(const RandomStream& stream, int64_t index) const {
    return (stream.bits(static_cast<uint64_t>(first_ + index)) >> (64 - kUniformBits)) >= least_;
  }

  // `first`: the index of the first element, counted as in row-major order.
  void run_plane(const RandomStream& stream, const float* x, float* y, int64_t first) const {
    for (int64_t position = 0; position < x_.positions; ++position) {
      for (int64_t lane = 0; lane < x_.block; ++lane) {
        const int64_t at = position * x_.block + lane;
        const bool kept = is_kept(stream, first + lane * x_.positions + position);
        y[at] = kept ? x[at] * factor_ : 0.0F;
      }
    }
  }

  int64_t channels_;
  Planes x_;
  Planes y_;
  uint64_t least_;  // what is drawn is at least this if the element is kept
  float factor_;
  uint64_t seed_;
  int64_t first_;
};

std::optional<NodeLayouts> layouts_dropout(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = common_layout(node.input_shape(0), inputs.first(1), /*fit=*/true);
  return NodeLayouts{.inputs = {layout, {}},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 0};
}

std::unique_ptr<Kernel> create_dropout(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Dropout>(node, layouts);
}

}  // namespace

extern const KernelDef kDropoutTraining = {.op = "DropoutTraining",
                                           .library = "native",
                                           .refuses = refuses_dropout,
                                           .layouts = layouts_dropout,
                                           .create_in = create_dropout};

}  // namespace trainyard::kernels::native
