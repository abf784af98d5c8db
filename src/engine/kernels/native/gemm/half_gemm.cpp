#include "engine/kernels/native/gemm/half_gemm.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/half_tile.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kHalfPanel = kWideVectors * kWideLanes;

int64_t whole_parts(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

bool half_gemm_pays(const HalfGemmShape& shape) {
  constexpr int64_t kEnough = 32;
  return std::min({shape.rows, shape.columns, shape.depth}) >= kEnough;
}

HalfGemm::HalfGemm(const HalfGemmShape& shape, const WideFinish& finish)
    : shape_(shape), finish_(finish), pairs_(pairs_of(shape.depth)) {
  TY_REQUIRE(cpu_has_avx512_bf16(), "the processor lacks AVX-512 BF16");
  TY_REQUIRE(shape.rows > 0 && shape.depth > 0 && shape.columns > 0, "an empty product");
}

int64_t HalfGemm::scratch_bytes() const {
  const int64_t a = whole_parts(shape_.rows, kHalfRows) * kHalfRows;
  const int64_t b = whole_parts(shape_.columns, kHalfPanel) * kHalfPanel;
  return (a + b) * pairs_ * static_cast<int64_t>(sizeof(float));
}

// Rows one after the other, or groups of eight side by side.
void HalfGemm::pack_a(const float* a, float* to) const {
  const int64_t groups = whole_parts(shape_.rows, kHalfRows);
  parallel_for(groups, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t row = group * kHalfRows;
      const int64_t rows = std::min(kHalfRows, shape_.rows - row);
      float* packed = to + row * pairs_;
      if (shape_.a_transposed) {
        pack_halves_of_columns({a + row, shape_.rows}, rows, shape_.depth, packed, kHalfRows);
      } else {
        pack_halves_of_rows({a + row * shape_.depth, shape_.depth}, rows, shape_.depth, packed);
      }
    }
  });
}

void HalfGemm::pack_b(const float* b, float* to) const {
  parallel_for(whole_parts(shape_.columns, kHalfPanel), [&](int64_t begin, int64_t end) {
    const int64_t last = std::min(end * kHalfPanel, shape_.columns);
    for (int64_t column = begin * kHalfPanel; column < last; column += kHalfRows) {
      const int64_t columns = std::min(kHalfRows, shape_.columns - column);
      float* packed = to + column / kHalfPanel * kHalfPanel * pairs_ + column % kHalfPanel;
      if (shape_.b_transposed) {
        pack_halves_of_lines({b + column * shape_.depth, shape_.depth}, columns, shape_.depth,
                             packed, kHalfPanel);
      } else {
        pack_halves_of_columns({b + column, shape_.columns}, columns, shape_.depth, packed,
                               kHalfPanel);
      }
    }
  });
}

void HalfGemm::run(const float* a, const float* b, const float* bias, float* y,
                   void* scratch) const {
  const int64_t groups = whole_parts(shape_.rows, kHalfRows);
  const int64_t panels = whole_parts(shape_.columns, kHalfPanel);
  auto* rows_packed = static_cast<float*>(scratch);
  float* columns_packed = rows_packed + groups * kHalfRows * pairs_;
  pack_a(a, rows_packed);
  pack_b(b, columns_packed);
  // Panel after panel; few of them are cut by rows too, for the threads to have equal work.
  constexpr int64_t kEnough = 8;
  const int64_t cuts = panels >= kEnough * threads() ? 1 : std::min<int64_t>(groups, threads());
  parallel_for(panels * cuts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i / cuts * kHalfPanel;
      WideTile tile;
      tile.a_stride = shape_.a_transposed ? 1 : pairs_;
      tile.a_step = shape_.a_transposed ? kHalfRows : 1;
      tile.b = columns_packed + column * pairs_;
      tile.b_stride = kHalfPanel;
      tile.depth = pairs_;
      tile.columns = std::min(kHalfPanel, shape_.columns - column);
      tile.bias = bias == nullptr ? nullptr : bias + column;
      tile.c_stride = shape_.columns;
      tile.finish = &finish_;
      const Range mine = part_of(groups, cuts, i % cuts);
      for (int64_t group = mine.begin; group < mine.end; ++group) {
        const int64_t row = group * kHalfRows;
        tile.a = rows_packed + row * pairs_;
        tile.c = y + row * shape_.columns + column;
        half_tile(std::min(kHalfRows, shape_.rows - row),
                  whole_parts(tile.columns, kWideLanes))(tile);
      }
    }
  });
}

}  // namespace trainyard::kernels::native
