// Softmax down columns for AVX-512: every lane is a query, every row of scores a key. Plain data
// and pointers only: the file that is compiled for such processors includes it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

struct WideSoftmax {
  float* scores = nullptr;  // [key][16 x vectors], become exp(score - largest of the column)
  int64_t keys = 0;
  int64_t vectors = 0;
  const int32_t* visible = nullptr;  // keys that a lane may see, from the first; null: all
  // Added to scores: element (lane, key) at mask[lane_offset[lane] + key]. Null: nothing. If
  // `same_mask`, all lanes have the offset of the first.
  const float* mask = nullptr;
  const int32_t* lane_offset = nullptr;
  bool same_mask = false;
  float* factors = nullptr;  // 1 / sum of each column; 0 where a lane sees nothing
};

// Ask cpu_has_avx512() first.
void wide_softmax(const WideSoftmax& job);

// row[i] *= factor
void wide_scale(float* row, int64_t count, float factor);

}  // namespace trainyard::kernels::native
