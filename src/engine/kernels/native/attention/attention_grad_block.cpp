#include "engine/kernels/native/attention/attention_grad_block.h"

#include <algorithm>
#include <limits>

#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kHalf = 8;  // lanes of a vector here
constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

}  // namespace

void finish_slopes(const SlopeBlock& block) {
  const __m256 scale = _mm256_set1_ps(block.scale);
  for (int64_t lane = 0; lane < block.width; lane += kHalf) {
    const __m256 factor = _mm256_loadu_ps(block.factors + lane);
    __m256 through = _mm256_setzero_ps();
    for (int64_t key = 0; key < block.keys; ++key) {
      float* share = block.shares + key * block.width + lane;
      const __m256 p = times(_mm256_loadu_ps(share), factor);
      _mm256_storeu_ps(share, p);
      const __m256 dp = _mm256_loadu_ps(block.slopes + key * block.width + lane);
      through = times_plus(p, dp, through);
    }
    for (int64_t key = 0; key < block.keys; ++key) {
      float* slope = block.slopes + key * block.width + lane;
      const __m256 p = _mm256_loadu_ps(block.shares + key * block.width + lane);
      const __m256 ds = times(p, minus(_mm256_loadu_ps(slope), through));
      _mm256_storeu_ps(slope, times(ds, scale));
    }
  }
}

void plain_softmax(const WideSoftmax& job) {
  const int64_t width = job.vectors * kWideLanes;
  for (int64_t lane = 0; lane < width; lane += kHalf) {
    if (job.visible != nullptr) {
      for (int64_t l = lane; l < lane + kHalf; ++l) {
        for (int64_t key = job.visible[l]; key < job.keys; ++key) {
          job.scores[key * width + l] = kHiddenScore;
        }
      }
    }
    __m256 largest = _mm256_set1_ps(kHiddenScore);
    for (int64_t key = 0; key < job.keys; ++key) {
      largest = larger(largest, _mm256_loadu_ps(job.scores + key * width + lane));
    }
    // A lane that sees nothing has exp(-inf - 0) = 0 everywhere.
    const __m256 none = _mm256_cmp_ps(largest, _mm256_set1_ps(kHiddenScore), _CMP_EQ_OQ);
    const __m256 shift = _mm256_blendv_ps(largest, _mm256_setzero_ps(), none);
    __m256 sum = _mm256_setzero_ps();
    for (int64_t key = 0; key < job.keys; ++key) {
      float* at = job.scores + key * width + lane;
      const __m256 e = exp_vector(minus(_mm256_loadu_ps(at), shift));
      _mm256_storeu_ps(at, e);
      sum = plus(sum, e);
    }
    const __m256 empty = _mm256_cmp_ps(sum, _mm256_setzero_ps(), _CMP_EQ_OQ);
    const __m256 factor = over(_mm256_set1_ps(1.0F), sum);
    _mm256_storeu_ps(job.factors + lane, _mm256_blendv_ps(factor, _mm256_setzero_ps(), empty));
  }
}

void plain_tile(int64_t rows, const WideTile& tile) {
  float sums[kWideVectors * kWideLanes];
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(sums, tile.columns, 0.0F);
    for (int64_t d = 0; d < tile.depth; ++d) {
      const float a = tile.a[row * tile.a_stride + d * tile.a_step];
      const float* b = tile.b + d * tile.b_stride;
      for (int64_t c = 0; c < tile.columns; ++c) sums[c] += a * b[c];
    }
    float* to = tile.c + row * tile.c_stride;
    const float* added = tile.added == nullptr ? nullptr : tile.added + row * tile.c_stride;
    for (int64_t c = 0; c < tile.columns; ++c) {
      to[c] = tile.finish->factor * sums[c] + (added == nullptr ? 0.0F : added[c]);
    }
  }
}

}  // namespace trainyard::kernels::native
