// The gradient of a 3x3 or 5x5 convolution's weights by Winograd's minimal filtering.
#include "engine/kernels/native/conv/winograd_weight_gradient.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/conv/winograd_input.h"
#include "engine/kernels/native/conv/winograd_plan.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kWinogradWeightGradientSquare = kBlock * kBlock;
constexpr int64_t kRows = 4;         // input channels per call: 4 x 3 sums fill 12 of 16 registers
constexpr int64_t kMostColumns = 3;  // blocks of output channels per call

// sums[column][row][8] (a column of 8x8 blocks every `sums_stride`) = or += the products of 4 input
// channels at `v` and blocks of 8 output channels at `m`, summed over tiles. Columns are template
// arguments for the reason given in panel_gemm.cpp.
template <int... kColumn>
void multiply_tiles(const float* v, const float* m, int64_t m_stride, int64_t tiles, bool add,
                    float* sums, int64_t sums_stride) {
  __m256 sum0[] = {(static_cast<void>(kColumn), _mm256_setzero_ps())...};
  __m256 sum1[] = {(static_cast<void>(kColumn), _mm256_setzero_ps())...};
  __m256 sum2[] = {(static_cast<void>(kColumn), _mm256_setzero_ps())...};
  __m256 sum3[] = {(static_cast<void>(kColumn), _mm256_setzero_ps())...};
  for (int64_t tile = 0; tile < tiles; ++tile, v += kBlock, m += kBlock) {
    const __m256 columns[] = {_mm256_load_ps(m + kColumn * m_stride)...};
    const __m256 row0 = _mm256_broadcast_ss(v);
    ((sum0[kColumn] = _mm256_fmadd_ps(row0, columns[kColumn], sum0[kColumn])), ...);
    const __m256 row1 = _mm256_broadcast_ss(v + 1);
    ((sum1[kColumn] = _mm256_fmadd_ps(row1, columns[kColumn], sum1[kColumn])), ...);
    const __m256 row2 = _mm256_broadcast_ss(v + 2);
    ((sum2[kColumn] = _mm256_fmadd_ps(row2, columns[kColumn], sum2[kColumn])), ...);
    const __m256 row3 = _mm256_broadcast_ss(v + 3);
    ((sum3[kColumn] = _mm256_fmadd_ps(row3, columns[kColumn], sum3[kColumn])), ...);
  }
  const auto store = [&](float* to, __m256 sum) {
    _mm256_store_ps(to, add ? plus(_mm256_load_ps(to), sum) : sum);
  };
  (store(sums + kColumn * sums_stride, sum0[kColumn]), ...);
  (store(sums + kColumn * sums_stride + kBlock, sum1[kColumn]), ...);
  (store(sums + kColumn * sums_stride + 2 * kBlock, sum2[kColumn]), ...);
  (store(sums + kColumn * sums_stride + 3 * kBlock, sum3[kColumn]), ...);
}

using MultiplyTiles = void (*)(const float*, const float*, int64_t, int64_t, bool, float*, int64_t);
constexpr MultiplyTiles kMultiplyTiles[kMostColumns + 1] = {
    nullptr, multiply_tiles<0>, multiply_tiles<0, 1>, multiply_tiles<0, 1, 2>};

template <int kTaps>
class WinogradWeightGradientSteps {
 public:
  static constexpr int kOutputs = static_cast<int>(kWeightGradientTile);
  static constexpr int kPoints = kOutputs + kTaps - 1;

  WinogradWeightGradientSteps(const WinogradShape& shape, const WinogradWeightGradient::Plan& plan,
                              const float* src, const float* dy, float* dw)
      : shape_(shape),
        plan_(plan),
        tiles_(plan_winograd(shape, kWeightGradientTile, WinogradWeights::kGiven, 1)),
        input_(shape_, tiles_, src, plan.v_stride),
        dy_(dy),
        dw_(dw) {}

  int64_t transforms() const { return tiles_.in_blocks + tiles_.out_blocks; }

  // The item-th block of channels, of the input or of the gradient.
  void transform(Range tiles, int64_t item, float* v, float* m) const {
    if (item < tiles_.in_blocks) {
      input_.transform(tiles, {item, item + 1}, v);
    } else {
      transform_gradient(tiles, item - tiles_.in_blocks, m);
    }
  }

  // Products of one unit of channel blocks, added to its sums unless these are the first tiles.
  void multiply(int64_t tiles, int64_t unit, const float* v, const float* m, bool add,
                float* sums) const {
    const Range in = in_blocks(unit);
    const Range out = out_blocks(unit);
    const int64_t block = tiles * kBlock;
    const int64_t pieces = divide_up(out.size(), kMostColumns);
    for (int64_t point = 0; point < plan_.points; ++point) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const Range columns = part_of(out.size(), pieces, piece);
        const float* columns_at = m + point * plan_.m_stride + (out.begin + columns.begin) * block;
        for (int64_t c = 0; c < in.size(); ++c) {
          const float* rows_at = v + point * plan_.v_stride + (in.begin + c) * block;
          float* to = sums + ((c * out.size() + columns.begin) * plan_.points + point) *
                                 kWinogradWeightGradientSquare;
          for (int64_t row = 0; row < kBlock; row += kRows) {
            kMultiplyTiles[columns.size()](rows_at + row, columns_at, block, tiles, add,
                                           to + row * kBlock,
                                           plan_.points * kWinogradWeightGradientSquare);
          }
        }
      }
    }
  }

  // From the finished sums of one unit to the weights' gradient.
  void finish(int64_t unit, const float* sums) const {
    const Range in = in_blocks(unit);
    const Range out = out_blocks(unit);
    for (int64_t c = in.begin; c < in.end; ++c) {
      for (int64_t k = out.begin; k < out.end; ++k, sums += plan_.square_floats())
        finish_square(c, k, sums);
    }
  }

  // The same of one pair of channel blocks where a unit holds all of them, after adding up the
  // segments in order.
  void finish_segments(int64_t pair, float* sums) const {
    float* own = sums + pair * plan_.square_floats();
    for (int64_t segment = 1; segment < plan_.segments; ++segment) {
      const float* other = own + segment * plan_.unit_floats();
      for (int64_t i = 0; i < plan_.square_floats(); i += kBlock)
        _mm256_store_ps(own + i, plus(_mm256_load_ps(own + i), _mm256_load_ps(other + i)));
    }
    finish_square(pair / tiles_.out_blocks, pair % tiles_.out_blocks, own);
  }
  int64_t pairs() const { return tiles_.in_blocks * tiles_.out_blocks; }

 private:
  Range in_blocks(int64_t unit) const {
    return part_of(tiles_.in_blocks, plan_.in_groups, unit / plan_.out_groups);
  }
  Range out_blocks(int64_t unit) const {
    return part_of(tiles_.out_blocks, plan_.out_groups, unit % plan_.out_groups);
  }

  // m[point][block][tile][8] = A dy A^T for one block of channels.
  void transform_gradient(Range tiles, int64_t block, float* m) const {
    const int64_t out_width = shape_.out_width();
    const int64_t plane = shape_.out_height() * out_width * kBlock;
    TilePosition at(tiles_, tiles.begin);
    float* out = m + block * tiles.size() * kBlock;
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile, out += kBlock, at.next(tiles_)) {
      const float* from = dy_ + at.image * tiles_.dst_image + block * plane +
                          (at.y * out_width + at.x) * kOutputs * kBlock;
      const int64_t rows = shape_.out_height() - at.y * kOutputs;
      const int64_t columns = out_width - at.x * kOutputs;
      if (rows >= kOutputs && columns >= kOutputs) {
        gradient_tile<true>(from, kOutputs, kOutputs, out);
      } else {
        gradient_tile<false>(from, rows, columns, out);
      }
    }
  }

  // Rows and columns from the given ones on count as zero unless kWhole.
  template <bool kWhole>
  void gradient_tile(const float* from, int64_t rows, int64_t columns, float* m) const {
    const int64_t row_stride = shape_.out_width() * kBlock;
    __m256 half[kPoints][kOutputs];
    for (int j = 0; j < kOutputs; ++j) {
      __m256 column[kOutputs];
      __m256 result[kPoints];
      for (int i = 0; i < kOutputs; ++i) {
        column[i] = kWhole || (i < rows && j < columns)
                        ? _mm256_load_ps(from + i * row_stride + j * kBlock)
                        : _mm256_setzero_ps();
      }
      winograd_output_gradient(column, result);
      for (int i = 0; i < kPoints; ++i) half[i][j] = result[i];
    }
    for (int i = 0; i < kPoints; ++i) {
      __m256 result[kPoints];
      winograd_output_gradient(half[i], result);
      for (int j = 0; j < kPoints; ++j, m += plan_.m_stride) _mm256_store_ps(m, result[j]);
    }
  }

  void finish_square(int64_t c, int64_t k, const float* sums) const {
    float* to = dw_ + (k * tiles_.in_blocks + c) * kTaps * kTaps * kWinogradWeightGradientSquare;
    for (int64_t row = 0; row < kWinogradWeightGradientSquare; row += kBlock)
      finish_row(sums + row, to + row);
  }

  static void finish_row(const float* sums, float* to) {
    __m256 half[kTaps][kPoints];
    for (int j = 0; j < kPoints; ++j) {
      __m256 column[kPoints];
      __m256 result[kTaps];
      for (int i = 0; i < kPoints; ++i) {
        column[i] = _mm256_load_ps(sums + (i * kPoints + j) * kWinogradWeightGradientSquare);
      }
      winograd_filter_gradient(column, result);
      for (int i = 0; i < kTaps; ++i) half[i][j] = result[i];
    }
    for (int i = 0; i < kTaps; ++i) {
      __m256 result[kTaps];
      winograd_filter_gradient(half[i], result);
      for (int j = 0; j < kTaps; ++j)
        _mm256_store_ps(to + (i * kTaps + j) * kWinogradWeightGradientSquare, result[j]);
    }
  }

  const WinogradShape& shape_;
  const WinogradWeightGradient::Plan& plan_;
  WinogradPlan tiles_;
  InputTiles<kOutputs, kPoints> input_;
  const float* dy_;
  float* dw_;
};

// Each thread takes its own segments of the tiles through transforms and products, which never
// leave its caches; the segments' sums are added up at the end.
template <int kTaps>
void run_segments_winograd_weight_gradient(const WinogradWeightGradientSteps<kTaps>& steps,
                                           const WinogradWeightGradient::Plan& plan, int64_t tiles,
                                           float* scratch, int threads) {
  float* sums = scratch + threads * plan.transform_floats();
  parallel(threads, [&](int id) {
    float* v = scratch + id * plan.transform_floats();
    float* m = v + plan.points * plan.v_stride;
    const Range segments = part_of(plan.segments, threads, id);
    for (int64_t segment = segments.begin; segment < segments.end; ++segment) {
      const Range own = part_of(tiles, plan.segments, segment);
      for (int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
        const Range part = part_of(own.size(), plan.chunks, chunk);
        const Range mine = {own.begin + part.begin, own.begin + part.end};
        for (int64_t i = 0; i < steps.transforms(); ++i) steps.transform(mine, i, v, m);
        steps.multiply(mine.size(), 0, v, m, chunk > 0, sums + segment * plan.unit_floats());
      }
    }
  });
  parallel(threads, [&](int id) {
    const Range pairs = part_of(steps.pairs(), threads, id);
    for (int64_t pair = pairs.begin; pair < pairs.end; ++pair) steps.finish_segments(pair, sums);
  });
}

// All threads transform the same tiles, then each multiplies some of the channels.
template <int kTaps>
void run_steps_winograd_weight_gradient(const WinogradWeightGradientSteps<kTaps>& steps,
                                        const WinogradWeightGradient::Plan& plan, int64_t tiles,
                                        float* scratch, int threads) {
  if (plan.segments > 1) {
    run_segments_winograd_weight_gradient(steps, plan, tiles, scratch, threads);
    return;
  }
  float* v = scratch;
  float* m = v + plan.points * plan.v_stride;
  float* sums = m + plan.points * plan.m_stride;
  for (int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    const Range mine = part_of(tiles, plan.chunks, chunk);
    parallel(threads, [&](int id) {
      const Range items = part_of(steps.transforms(), threads, id);
      for (int64_t i = items.begin; i < items.end; ++i) steps.transform(mine, i, v, m);
    });
    parallel(threads, [&](int id) {
      const Range units = part_of(plan.units(), threads, id);
      for (int64_t unit = units.begin; unit < units.end; ++unit) {
        float* own = sums + (plan.chunks == 1 ? id : unit) * plan.unit_floats();
        steps.multiply(mine.size(), unit, v, m, chunk > 0, own);
        if (chunk + 1 == plan.chunks) steps.finish(unit, own);
      }
    });
  }
}

}  // namespace

bool winograd_weight_gradient_pays(const WinogradShape& shape) {
  return training_winograd_pays(shape).has_value();
}

WinogradWeightGradient::WinogradWeightGradient(const WinogradShape& shape, int threads)
    : shape_(shape), threads_(threads) {
  TY_REQUIRE(cpu_has_avx2_fma(), "Winograd convolution needs a processor with AVX2 and FMA");
  TY_REQUIRE(shape.kernel == 3 || shape.kernel == 5,
             "Winograd weight gradient: window {0}x{0}, expected 3x3 or 5x5", shape.kernel);
  TY_REQUIRE(shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 &&
                 shape.out_height() > 0 && shape.out_width() > 0,
             "Winograd weight gradient: empty shape, batch {}, {} -> {} channels, {}x{} outputs",
             shape.batch, shape.in_channels, shape.out_channels, shape.out_height(),
             shape.out_width());
  plan_ = plan_winograd_weight_gradient(shape, threads);
}

int64_t WinogradWeightGradient::scratch_bytes() const {
  const int64_t shared_units = plan_.chunks == 1 ? threads_ : plan_.units();
  const int64_t units = plan_.segments > 1 ? plan_.segments : shared_units;
  const int64_t transforms = plan_.segments > 1 ? threads_ : 1;
  return (transforms * plan_.transform_floats() + units * plan_.unit_floats()) *
         static_cast<int64_t>(sizeof(float));
}

void WinogradWeightGradient::run(const float* src, const float* dy, float* dw,
                                 void* scratch) const {
  const int64_t tiles =
      plan_winograd(shape_, kWeightGradientTile, WinogradWeights::kGiven, 1).tiles;
  auto* memory = static_cast<float*>(scratch);
  if (shape_.kernel == 3) {
    run_steps_winograd_weight_gradient(WinogradWeightGradientSteps<3>(shape_, plan_, src, dy, dw),
                                       plan_, tiles, memory, threads_);
  } else {
    run_steps_winograd_weight_gradient(WinogradWeightGradientSteps<5>(shape_, plan_, src, dy, dw),
                                       plan_, tiles, memory, threads_);
  }
}

}  // namespace trainyard::kernels::native
