#include "engine/kernels/native/gemm/wide_linear.h"

#include <algorithm>

#include "base/error.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/half_tile.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kPanel = kWideVectors * kWideLanes;

int64_t parts_of(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

WideLinear::WideLinear(const LinearShape& shape, const float* weights, int64_t output_stride,
                       int64_t input_stride, const float* bias, const WideFinish& finish,
                       Precision precision)
    : shape_(shape),
      finish_(finish),
      precision_(precision),
      depth_(precision == Precision::kBf16 ? pairs_of(shape.inputs) : shape.inputs),
      panels_(parts_of(shape.outputs, kPanel)) {
  TY_REQUIRE(cpu_has_avx512(), "the processor lacks AVX-512");
  TY_REQUIRE(precision == Precision::kF32 || cpu_has_avx512_bf16(),
             "the processor lacks AVX-512 BF16");
  TY_REQUIRE(shape.rows > 0 && shape.inputs > 0 && shape.outputs > 0,
             "linear layer: empty shape, {} rows, {} inputs, {} outputs", shape.rows, shape.inputs,
             shape.outputs);
  weights_ = PackedBuffer(panels_ * kPanel * depth_);
  if (precision == Precision::kBf16) {
    pack_halves(weights, output_stride, input_stride);
  } else {
    pack(weights, output_stride, input_stride);
  }
  if (bias == nullptr) return;
  bias_ = PackedBuffer(shape.outputs);
  std::copy_n(bias, shape.outputs, bias_.data());
}

Range WideLinear::outputs_of(int64_t panel) const {
  const Range vectors = part_of(parts_of(shape_.outputs, kWideLanes), panels_, panel);
  return {vectors.begin * kWideLanes, std::min(vectors.end * kWideLanes, shape_.outputs)};
}

void WideLinear::pack(const float* weights, int64_t output_stride, int64_t input_stride) {
  for (int64_t panel = 0; panel < panels_; ++panel) {
    const Range mine = outputs_of(panel);
    float* packed = weights_.data() + panel * depth_ * kPanel;
    for (int64_t c = 0; c < shape_.inputs; ++c) {
      for (int64_t k = mine.begin; k < mine.end; ++k) {
        packed[c * kPanel + k - mine.begin] = weights[k * output_stride + c * input_stride];
      }
    }
  }
}

void WideLinear::pack_halves(const float* weights, int64_t output_stride, int64_t input_stride) {
  for (int64_t panel = 0; panel < panels_; ++panel) {
    const Range mine = outputs_of(panel);
    for (int64_t first = mine.begin; first < mine.end; first += kHalfRows) {
      const int64_t width = std::min(kHalfRows, mine.end - first);
      float* packed = weights_.data() + panel * depth_ * kPanel + first - mine.begin;
      if (input_stride == 1) {
        pack_halves_of_lines({weights + first * output_stride, output_stride}, width, shape_.inputs,
                             packed, kPanel);
      } else {
        TY_CHECK(output_stride == 1, "weights lie neither by inputs nor by outputs");
        pack_halves_of_columns({weights + first, input_stride}, width, shape_.inputs, packed,
                               kPanel);
      }
    }
  }
}

int64_t WideLinear::scratch_bytes() const {
  if (precision_ == Precision::kF32) return 0;
  return shape_.rows * depth_ * static_cast<int64_t>(sizeof(float));
}

// Panel after panel, so that each is read from memory once. Few panels are cut by rows too, for the
// threads to have equal work.
void WideLinear::run(const float* x, float* y, void* scratch) const {
  if (precision_ == Precision::kBf16) {
    auto* packed = static_cast<float*>(scratch);
    parallel_for(shape_.rows, [&](int64_t begin, int64_t end) {
      pack_halves_of_rows({x + begin * shape_.inputs, shape_.inputs}, end - begin, shape_.inputs,
                          packed + begin * depth_);
    });
    x = packed;
  }
  const int64_t groups = parts_of(shape_.rows, kWideRows);
  constexpr int64_t kEnough = 8;
  const int64_t cuts = panels_ >= kEnough * threads() ? 1 : std::min<int64_t>(groups, threads());
  parallel_for(panels_ * cuts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      run_panel(x, y, i / cuts, part_of(groups, cuts, i % cuts));
    }
  });
}

void WideLinear::run_panel(const float* x, float* y, int64_t panel, Range mine) const {
  const Range outputs = outputs_of(panel);
  const int64_t size = depth_ * kPanel;
  const int64_t groups = parts_of(shape_.rows, kWideRows);
  const int64_t requests = parts_of(depth_, kWideDepth);
  WideTile tile;
  tile.a_stride = depth_;
  tile.b = weights_.data() + panel * size;
  tile.b_stride = kPanel;
  tile.depth = depth_;
  tile.columns = outputs.size();
  tile.bias = bias_.size() == 0 ? nullptr : bias_.data() + outputs.begin;
  tile.c_stride = shape_.outputs;
  tile.finish = &finish_;
  tile.soon_lines = panel + 1 == panels_ ? 0 : parts_of(size / kWideLanes, mine.size() * requests);
  const auto multiply = precision_ == Precision::kBf16 ? half_tile : wide_tile;
  const int64_t vectors = parts_of(tile.columns, kWideLanes);
  for (int64_t group = mine.begin; group < mine.end; ++group) {
    const int64_t row = shape_.rows * group / groups;
    const int64_t rows = shape_.rows * (group + 1) / groups - row;
    tile.a = x + row * depth_;
    tile.c = y + row * shape_.outputs + outputs.begin;
    tile.soon = tile.b + size + (group - mine.begin) * tile.soon_lines * requests * kWideLanes;
    multiply(rows, vectors)(tile);
  }
}

}  // namespace trainyard::kernels::native
