// 3x3 and 5x5 convolution of stride 1 by Winograd's minimal filtering.
#include "engine/kernels/native/conv/winograd.h"

#include <algorithm>

#include "base/error.h"
#include "base/integers.h"
#include "engine/kernels/native/conv/winograd_input.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

// G g G^T of one square filter, to out[point * point_stride]. In double: the error of the whole is
// then that of the data's transforms alone.
template <int kOutputs, int kPoints>
void transform_filter(const float* g, float* out, int64_t point_stride) {
  constexpr int kTaps = kPoints - kOutputs + 1;
  for (int i = 0; i < kPoints; ++i) {
    double row[kTaps] = {};
    for (int y = 0; y < kTaps; ++y) {
      const double factor = winograd_filter<kPoints>(i, y, kTaps);
      for (int x = 0; x < kTaps; ++x) row[x] += factor * double{g[y * kTaps + x]};
    }
    for (int j = 0; j < kPoints; ++j, out += point_stride) {
      double u = 0;
      for (int x = 0; x < kTaps; ++x) u += winograd_filter<kPoints>(j, x, kTaps) * row[x];
      *out = static_cast<float>(u);
    }
  }
}

// Layout: panels of kPanelWidth output channels; in a panel, point by point, an in_channels x
// kPanelWidth matrix. Channels missing from the last panel are not written.
template <int kOutputs, int kPoints>
void pack_weights(const WinogradShape& shape, const float* weights, float* packed) {
  for (int64_t first = 0; first < shape.out_channels; first += kPanelWidth) {
    const int64_t end = std::min(first + kPanelWidth, shape.out_channels);
    float* panel = packed + first * kPoints * kPoints * shape.in_channels;
    for (int64_t c = 0; c < shape.in_channels; ++c) {
      for (int64_t k = first; k < end; ++k) {
        const float* filter = weights + (k * shape.in_channels + c) * shape.kernel * shape.kernel;
        transform_filter<kOutputs, kPoints>(filter, panel + c * kPanelWidth + k - first,
                                            shape.in_channels * kPanelWidth);
      }
    }
  }
}

// Everything one run works on.
struct Run {
  const WinogradShape& shape;
  const WinogradPlan& plan;
  const float* weights;
  const float* bias;
  Activation activation;
  const float* src;
  const float* residual;
  float* dst;
  const WinogradFilters* filters;
};

template <int kOutputs, int kPoints>
class WinogradSteps {
 public:
  explicit WinogradSteps(const Run& run) : run_(run), shape_(run.shape), plan_(run.plan) {
    if (InputTiles<kOutputs, kPoints>::works_wide(shape_)) {
      wide_ = wide_winograd_tile(kOutputs, kPoints).output;
    }
  }

  // Products and outputs of the given tiles, whose transformed input is v, for some panels.
  // `filters` has room for the weights of a block of panels if they are transformed here.
  void multiply(Range tiles, Range panels, const float* v, float* m, float* filters) const {
    constexpr int64_t kPanelBlocks = kPanelWidth / kBlock;
    for (int64_t begin = panels.begin; begin < panels.end; begin += plan_.block_panels) {
      const int64_t end = std::min(begin + plan_.block_panels, panels.end);
      const float* weights = filters;
      if (plan_.late_filters) {
        for (int64_t panel = begin; panel < end; ++panel) {
          run_.filters->transform(panel, filters + (panel - begin) * plan_.panel_floats);
        }
      } else {
        weights = run_.weights + begin * plan_.panel_floats;
      }
      multiply_points(tiles.size(), end - begin, weights, v, m);
      transform_output(tiles,
                       {begin * kPanelBlocks, std::min(end * kPanelBlocks, plan_.out_blocks)}, m);
    }
  }

 private:
  // One matrix product per point of the tile: tiles x in_channels by in_channels x out_channels.
  void multiply_points(int64_t rows, int64_t panels, const float* weights, const float* v,
                       float* m) const {
    const auto weights_at = [&](int64_t panel, int64_t point) {
      return weights + (panel * plan_.points + point) * shape_.in_channels * kPanelWidth;
    };
    for (int64_t point = 0; point < plan_.points; ++point) {
      for (int64_t panel = 0; panel < panels;) {
        const bool two = wide_ != nullptr && panel + 1 < panels;
        const int64_t after = panel + (two ? 2 : 1);
        // What to prefetch meanwhile. Behind the last point it is one past the end, which is never
        // read.
        const float* next = after < panels ? weights_at(after, point) : weights_at(0, point + 1);
        const float* a = v + point * plan_.v_stride;
        float* out = m + point * plan_.m_stride + panel * kPanelWidth * rows;
        if (two) {
          panel_pair_gemm_wide(a, rows * kBlock, rows, weights_at(panel, point), plan_.panel_floats,
                               shape_.in_channels, next, out, rows * kBlock);
        } else {
          panel_gemm(a, rows * kBlock, rows, weights_at(panel, point), shape_.in_channels, next,
                     out, rows * kBlock);
        }
        panel = after;
      }
    }
  }

  void transform_output(Range tiles, Range blocks, const float* m) const {
    if (wide_ != nullptr) {
      transform_wide_output(tiles, blocks, m);
      return;
    }
    const int64_t out_width = shape_.out_width();
    const int64_t plane = shape_.out_height() * out_width;
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
      TilePosition at(plan_, tiles.begin);
      const __m256 bias = _mm256_load_ps(run_.bias + block * kBlock);
      // `m` runs through tiles within a block, as the products were stored.
      for (int64_t tile = 0; tile < tiles.size(); ++tile, m += kBlock, at.next(plan_)) {
        const int64_t offset = at.image * plan_.dst_image +
                               block_offset(block, plane, shape_.block) +
                               (at.y * out_width + at.x) * kOutputs * shape_.block;
        const int64_t rows = shape_.out_height() - at.y * kOutputs;
        const int64_t columns = out_width - at.x * kOutputs;
        if (rows >= kOutputs && columns >= kOutputs) {
          store_tile<true>(m, bias, offset, kOutputs, kOutputs);
        } else {
          store_tile<false>(m, bias, offset, std::min<int64_t>(rows, kOutputs), columns);
        }
      }
    }
  }

  void transform_wide_output(Range tiles, Range blocks, const float* m) const {
    const int64_t out_width = shape_.out_width();
    const int64_t plane = shape_.out_height() * out_width;
    const int64_t half = tiles.size() * kBlock;
    WideOutput output{.strides = {plan_.m_stride, half},
                      .row_stride = out_width * shape_.block,
                      .low = run_.activation.low,
                      .high = run_.activation.high};
    for (int64_t block = blocks.begin; block < blocks.end; block += 2, m += half) {
      TilePosition at(plan_, tiles.begin);
      output.bias = run_.bias + block * kBlock;
      for (int64_t tile = 0; tile < tiles.size(); ++tile, m += kBlock, at.next(plan_)) {
        const int64_t offset = at.image * plan_.dst_image + block * kBlock * plane +
                               (at.y * out_width + at.x) * kOutputs * shape_.block;
        output.products = m;
        output.residual = run_.residual == nullptr ? nullptr : run_.residual + offset;
        output.dst = run_.dst + offset;
        output.rows = shape_.out_height() - at.y * kOutputs;
        output.columns = out_width - at.x * kOutputs;
        wide_(output);
      }
    }
  }

  // Stores A^T m A at `offset` of dst; only the first rows and columns unless kWhole.
  template <bool kWhole>
  void store_tile(const float* m, __m256 bias, int64_t offset, int64_t rows,
                  int64_t columns) const {
    __m256 half[kOutputs][kPoints];
    for (int j = 0; j < kPoints; ++j) {
      __m256 column[kPoints];
      __m256 result[kOutputs];
      for (int i = 0; i < kPoints; ++i) {
        column[i] = _mm256_load_ps(m + (i * kPoints + j) * plan_.m_stride);
      }
      winograd_output(column, result);
      for (int i = 0; i < kOutputs; ++i) half[i][j] = result[i];
    }
    const __m256 low = _mm256_set1_ps(run_.activation.low);
    const __m256 high = _mm256_set1_ps(run_.activation.high);
    const int64_t pixel = shape_.block;
    const int64_t row_stride = shape_.out_width() * pixel;
    for (int i = 0; i < kOutputs; ++i) {
      if (!kWhole && i >= rows) return;
      __m256 result[kOutputs];
      winograd_output(half[i], result);
      const int64_t at = offset + i * row_stride;
      for (int j = 0; j < kOutputs; ++j) {
        if (!kWhole && j >= columns) break;
        __m256 y = plus(result[j], bias);
        // Bias and residual are added before the activation, as FusedConv defines it.
        if (run_.residual) y = plus(y, _mm256_load_ps(run_.residual + at + j * pixel));
        // In this order of operands min and max pass NaN on instead of hiding it.
        _mm256_store_ps(run_.dst + at + j * pixel, _mm256_min_ps(high, _mm256_max_ps(low, y)));
      }
    }
  }

  const Run& run_;
  const WinogradShape& shape_;
  const WinogradPlan& plan_;
  decltype(WideWinogradTile::output) wide_ = nullptr;
};

// A thread's share of the blocks of input channels, in pairs.
Range input_blocks(const WinogradPlan& plan, int threads, int id) {
  const Range pairs = part_of(divide_up(plan.in_blocks, 2), threads, id);
  return {2 * pairs.begin, std::min(2 * pairs.end, plan.in_blocks)};
}

template <int kOutputs, int kPoints>
void run_steps_winograd(const Run& run, float* scratch, int threads) {
  const WinogradPlan& plan = run.plan;
  const InputTiles<kOutputs, kPoints> input(run.shape, plan, run.src, plan.v_stride);
  const WinogradSteps<kOutputs, kPoints> steps(run);
  // Few tiles or late filters: all threads share the transformed input and divide the panels.
  // Otherwise each has tiles of its own and needs no barrier.
  if (plan.split_panels) {
    float* v = scratch;
    float* products = scratch + plan.v_floats();
    const int64_t own = plan.m_floats() + plan.filter_floats();
    for (int64_t begin = 0; begin < plan.tiles; begin += plan.block_tiles) {
      const Range tiles = {begin, std::min(begin + plan.block_tiles, plan.tiles)};
      parallel(threads,
               [&](int id) { input.transform(tiles, input_blocks(plan, threads, id), v); });
      parallel(threads, [&](int id) {
        float* m = products + id * own;
        steps.multiply(tiles, part_of(plan.panels, threads, id), v, m, m + plan.m_floats());
      });
    }
    return;
  }
  parallel(threads, [&](int id) {
    float* v = scratch + id * (plan.v_floats() + plan.m_floats() + plan.filter_floats());
    float* m = v + plan.v_floats();
    const Range mine = part_of(plan.tiles, threads, id);
    for (int64_t begin = mine.begin; begin < mine.end; begin += plan.block_tiles) {
      const Range tiles = {begin, std::min(begin + plan.block_tiles, mine.end)};
      input.transform(tiles, {0, plan.in_blocks}, v);
      steps.multiply(tiles, {0, plan.panels}, v, m, m + plan.m_floats());
    }
  });
}

// One row per pair of tile and window, since both are template arguments.
struct Kernels {
  int64_t tile;
  int64_t kernel;
  void (*pack)(const WinogradShape& shape, const float* weights, float* packed);
  void (*run)(const Run& run, float* scratch, int threads);
};

template <int kOutputs, int kTaps>
constexpr Kernels make_kernels() {
  constexpr int kPoints = kOutputs + kTaps - 1;
  return {kOutputs, kTaps, pack_weights<kOutputs, kPoints>, run_steps_winograd<kOutputs, kPoints>};
}

constexpr Kernels kKernels[] = {make_kernels<2, 3>(), make_kernels<4, 3>(), make_kernels<6, 3>(),
                                make_kernels<2, 5>(), make_kernels<4, 5>()};

const Kernels& kernels_for(const WinogradShape& shape, WinogradTile tile) {
  for (const Kernels& kernels : kKernels) {
    if (kernels.tile == static_cast<int64_t>(tile) && kernels.kernel == shape.kernel) {
      return kernels;
    }
  }
  throw_error(
      "Winograd convolution has 2x2, 4x4 and 6x6 tiles for a 3x3 window, 2x2 and 4x4 for 5x5; "
      "asked for {0}x{0} and {1}x{1}",
      static_cast<int>(tile), shape.kernel);
}

}  // namespace

WinogradProduct::WinogradProduct(const WinogradShape& shape, WinogradTile tile,
                                 WinogradWeights weights, Activation activation)
    : shape_(shape), tile_(tile), weights_(weights), activation_(activation) {
  TY_REQUIRE(cpu_has_avx2_fma(), "Winograd convolution needs a processor with AVX2 and FMA");
  TY_REQUIRE(shape.batch > 0 && shape.in_channels > 0 && shape.out_channels > 0 &&
                 shape.out_height() > 0 && shape.out_width() > 0,
             "Winograd convolution: empty shape, batch {}, {} -> {} channels, {}x{} outputs",
             shape.batch, shape.in_channels, shape.out_channels, shape.out_height(),
             shape.out_width());
  // Channels that fill up a block are zero and must stay zero behind the activation.
  TY_REQUIRE(activation.low <= 0 && activation.high >= 0,
             "Winograd convolution: activation range [{}, {}] does not contain zero",
             activation.low, activation.high);
  kernels_for(shape, tile);
}

// The plan is cheap to make, so it is made anew instead of being kept for every number of threads.
bool WinogradProduct::transforms_late(int threads) const {
  return plan_winograd(shape_, tile_, weights_, threads).late_filters;
}

int64_t WinogradProduct::weight_floats() const {
  const WinogradPlan plan = plan_winograd(shape_, tile_, weights_, 1);
  return plan.panels * plan.panel_floats;
}

int64_t WinogradProduct::bias_floats() const {
  return plan_winograd(shape_, tile_, weights_, 1).panels * kPanelWidth;
}

int64_t WinogradProduct::scratch_bytes(int threads) const {
  const WinogradPlan plan = plan_winograd(shape_, tile_, weights_, threads);
  const int64_t inputs = plan.split_panels ? 1 : threads;
  return (inputs * plan.v_floats() + threads * (plan.m_floats() + plan.filter_floats())) *
         static_cast<int64_t>(sizeof(float));
}

void WinogradProduct::run(const WinogradOperands& operands, void* scratch, int threads) const {
  const WinogradPlan plan = plan_winograd(shape_, tile_, weights_, threads);
  const Run run = {shape_,          plan,         operands.weights,  operands.bias,
                   activation_,     operands.src, operands.residual, operands.dst,
                   operands.filters};
  kernels_for(shape_, tile_).run(run, static_cast<float*>(scratch), threads);
}

WinogradConv::WinogradConv(const WinogradShape& shape, WinogradTile tile, const float* weights,
                           const float* bias, Activation activation)
    : product_(shape, tile, WinogradWeights::kGiven, activation),
      weights_(product_.weight_floats()),
      bias_(product_.bias_floats()) {
  if (bias) std::copy_n(bias, shape.out_channels, bias_.data());
  kernels_for(shape, tile).pack(shape, weights, weights_.data());
}

void WinogradConv::run(const float* src, const float* residual, float* dst, void* scratch,
                       int threads) const {
  product_.run({weights_.data(), bias_.data(), src, residual, dst}, scratch, threads);
}

}  // namespace trainyard::kernels::native
