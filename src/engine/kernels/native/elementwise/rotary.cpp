// RotaryEmbedding with halves side by side (not interleaved), rows shared among the threads.
#include <algorithm>

#include "base/error.h"
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/nn/rotary_embedding.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_rotary(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  for (size_t i = 0; i < 3; ++i) {
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  const ops::RotaryShape r = ops::rotary_shape(node);
  if (r.interleaved) return "interleaved pairs are not implemented";
  return r.turned / 2 % kVector == 0 ? "" : "only multiples of 16 columns are implemented";
}

class RotaryKernel final : public Kernel {
 public:
  explicit RotaryKernel(const NodeView& node) : r_(ops::rotary_shape(node)) {}

  void run(const KernelArgs& args) const override {
    const bool by_position = args.inputs.size() > 3 && args.inputs[3].data != nullptr;
    if (by_position) check_positions(args);
    parallel_for(r_.batch * r_.rows, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / r_.rows;
        const int64_t row = i % r_.rows;
        const int64_t angle = (by_position ? position(args.inputs[3], b, row) : i) * r_.turned / 2;
        for (int64_t h = 0; h < r_.heads; ++h) turn(args, r_.strides.at(b, h, row), angle);
      }
    });
  }

 private:
  // One position for each row, or the first of each batch element.
  int64_t position(const TensorView& positions, int64_t b, int64_t row) const {
    const bool all = positions.num_elements() == r_.batch * r_.rows;
    return all ? element_as_int(positions, b * r_.rows + row)
               : element_as_int(positions, b % positions.num_elements()) + row;
  }
  void check_positions(const KernelArgs& args) const {
    const int64_t limit = (*args.inputs[1].shape)[0];
    for (int64_t i = 0; i < r_.batch * r_.rows; ++i) {
      const int64_t at = position(args.inputs[3], i / r_.rows, i % r_.rows);
      TY_REQUIRE(0 <= at && at < limit, "position {} is outside the tables of {} rows", at, limit);
    }
  }
  void turn(const KernelArgs& args, int64_t begin, int64_t angle) const {
    const float* x = args.inputs[0].as<const float>() + begin;
    const float* cosines = args.inputs[1].as<const float>() + angle;
    const float* sines = args.inputs[2].as<const float>() + angle;
    float* y = args.outputs[0].as<float>() + begin;
    const int64_t pairs = r_.turned / 2;
    for (int64_t i = 0; i < pairs; i += kVector) {
      const __m256 a = _mm256_loadu_ps(x + i);
      const __m256 b = _mm256_loadu_ps(x + pairs + i);
      const __m256 c = _mm256_loadu_ps(cosines + i);
      const __m256 s = _mm256_loadu_ps(sines + i);
      _mm256_storeu_ps(y + i, _mm256_fmsub_ps(c, a, _mm256_mul_ps(s, b)));
      _mm256_storeu_ps(y + pairs + i, _mm256_fmadd_ps(s, a, _mm256_mul_ps(c, b)));
    }
    std::copy(x + r_.turned, x + r_.depth, y + r_.turned);
  }

  ops::RotaryShape r_;
};

std::unique_ptr<Kernel> create_rotary(const NodeView& node) {
  return std::make_unique<RotaryKernel>(node);
}

}  // namespace

extern const KernelDef kRotaryEmbedding = {.op = "RotaryEmbedding",
                                           .library = "native",
                                           .refuses = refuses_rotary,
                                           .create = create_rotary};

}  // namespace trainyard::kernels::native
