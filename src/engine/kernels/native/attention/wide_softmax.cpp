// Compiled for AVX-512: nothing here may be shared with files that are not, so there are no
// functions but local ones and those of the header.
#include "engine/kernels/native/attention/wide_softmax.h"

#include <limits>

#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kLanes = 16;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// One vector of columns: masked and its largest number found, then exponentials and their sum.
class Column {
 public:
  Column(const WideSoftmax& job, int64_t vector)
      : job_(job),
        scores_(job.scores + vector * kLanes),
        first_lane_(vector * kLanes),
        stride_(job.vectors * kLanes) {}

  void run() const {
    if (job_.visible != nullptr || job_.mask != nullptr) add_mask();
    const __m512 largest = largest_score();
    // A lane that sees nothing has exp(-inf - 0) = 0 everywhere.
    const __m512 nothing = _mm512_set1_ps(kNothing);
    const __m512 shift = _mm512_mask_mov_ps(
        largest, _mm512_cmp_ps_mask(largest, nothing, _CMP_EQ_OQ), _mm512_setzero_ps());
    __m512 sum = _mm512_setzero_ps();
    for (int64_t key = 0; key < job_.keys; ++key) {
      float* at = scores_ + key * stride_;
      const __m512 e = exp_vector(_mm512_sub_ps(_mm512_load_ps(at), shift));
      _mm512_store_ps(at, e);
      sum = _mm512_add_ps(sum, e);
    }
    const __m512 factor = _mm512_div_ps(_mm512_set1_ps(1.0F), sum);
    const __mmask16 none = _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_EQ_OQ);
    _mm512_store_ps(job_.factors + first_lane_,
                    _mm512_mask_mov_ps(factor, none, _mm512_setzero_ps()));
  }

 private:
  __m512 largest_score() const {
    __m512 most[2] = {_mm512_set1_ps(kNothing), _mm512_set1_ps(kNothing)};
    int64_t key = 0;
    for (; key + 2 <= job_.keys; key += 2) {
      most[0] = larger(most[0], _mm512_load_ps(scores_ + key * stride_));
      most[1] = larger(most[1], _mm512_load_ps(scores_ + (key + 1) * stride_));
    }
    if (key < job_.keys) most[0] = larger(most[0], _mm512_load_ps(scores_ + key * stride_));
    return larger(most[0], most[1]);
  }

  void add_mask() const {
    const __m512i visible = job_.visible == nullptr
                                ? _mm512_set1_epi32(std::numeric_limits<int32_t>::max())
                                : _mm512_loadu_si512(job_.visible + first_lane_);
    const __m512i offsets = job_.lane_offset == nullptr
                                ? _mm512_setzero_si512()
                                : _mm512_loadu_si512(job_.lane_offset + first_lane_);
    for (int64_t key = 0; key < job_.keys; ++key) {
      float* at = scores_ + key * stride_;
      __m512 score = _mm512_load_ps(at);
      if (job_.mask != nullptr) {
        const float* from = job_.mask + key;
        score = plus(score, job_.same_mask ? _mm512_set1_ps(from[job_.lane_offset[0]])
                                           : _mm512_i32gather_ps(offsets, from, sizeof(float)));
      }
      const __mmask16 hidden =
          _mm512_cmple_epi32_mask(visible, _mm512_set1_epi32(static_cast<int32_t>(key)));
      _mm512_store_ps(at, _mm512_mask_mov_ps(score, hidden, _mm512_set1_ps(kNothing)));
    }
  }

  const WideSoftmax& job_;
  float* scores_;
  int64_t first_lane_;
  int64_t stride_;
};

}  // namespace

void wide_softmax(const WideSoftmax& job) {
  for (int64_t vector = 0; vector < job.vectors; ++vector) Column(job, vector).run();
}

void wide_scale(float* row, int64_t count, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t left = count - i;
    const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xffff : (1 << left) - 1);
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, row + i), factors);
    _mm512_mask_storeu_ps(row + i, mask, scaled);
  }
}

}  // namespace trainyard::kernels::native
