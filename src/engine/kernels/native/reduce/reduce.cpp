// Reductions of neighboring dimensions: sums, means, extremes and sums of squares of f32.
#include "ops/math/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

// outer x reduced x inner elements, dense.
struct Extents {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// No value if what is reduced is not one run of dimensions.
std::optional<Extents> extents_of(const NodeView& node) {
  const auto reduced = ops::reduced_axes(node);
  if (!reduced) return std::nullopt;
  const Shape& x = node.input_shape(0);
  Extents extents;
  bool begun = false;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (x[d] == 1) continue;
    if ((*reduced)[static_cast<size_t>(d)]) {
      if (extents.inner > 1) return std::nullopt;
      extents.reduced *= x[d];
      begun = true;
    } else {
      (begun ? extents.inner : extents.outer) *= x[d];
    }
  }
  return extents;
}

std::string_view refuses_reduce(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  if (!extents_of(node))
    return "only neighboring dimensions, known before the run, are implemented";
  return "";
}

struct ReduceSum {
  static constexpr float kInitial = 0;
  static float step(float sum, float x) { return sum + x; }
  static double join(double a, double b) { return a + b; }
};
struct SumSquare {
  static constexpr float kInitial = 0;
  static float step(float sum, float x) { return sum + x * x; }
  static double join(double a, double b) { return a + b; }
};
// What is not a number wins.
struct Max {
  static constexpr float kInitial = -std::numeric_limits<float>::infinity();
  static float step(float most, float x) { return x > most || std::isnan(x) ? x : most; }
  static double join(double a, double b) { return b > a || b != b ? b : a; }
};
struct Min {
  static constexpr float kInitial = std::numeric_limits<float>::infinity();
  static float step(float least, float x) { return x < least || std::isnan(x) ? x : least; }
  static double join(double a, double b) { return b < a || b != b ? b : a; }
};

// Sums are taken in f32 over this many elements, and these in f64.
constexpr int64_t kReduceChunk = 512;
constexpr int64_t kLanes = 32;

template <typename Op>
double reduce_row(const float* x, int64_t count) {
  double total = static_cast<double>(Op::kInitial);
  for (int64_t begin = 0; begin < count; begin += kReduceChunk) {
    const int64_t end = std::min(count, begin + kReduceChunk);
    std::array<float, kLanes> lanes;
    lanes.fill(Op::kInitial);
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Op::step(lanes[lane], x[i + static_cast<int64_t>(lane)]);
      }
    }
    for (; i < end; ++i) lanes[0] = Op::step(lanes[0], x[i]);
    for (const float lane : lanes) total = Op::join(total, static_cast<double>(lane));
  }
  return total;
}

// Up to kLanes neighboring columns of `count` rows.
template <typename Op>
void reduce_columns(const float* x, int64_t count, int64_t stride, int64_t columns, double scale,
                    float* y) {
  std::array<double, kLanes> totals;
  totals.fill(static_cast<double>(Op::kInitial));
  for (int64_t begin = 0; begin < count; begin += kReduceChunk) {
    const int64_t end = std::min(count, begin + kReduceChunk);
    std::array<float, kLanes> lanes;
    lanes.fill(Op::kInitial);
    for (int64_t row = begin; row < end; ++row) {
      const float* from = x + row * stride;
      for (int64_t lane = 0; lane < columns; ++lane) {
        float& sum = lanes[static_cast<size_t>(lane)];
        sum = Op::step(sum, from[lane]);
      }
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      totals[lane] = Op::join(totals[lane], static_cast<double>(lanes[lane]));
    }
  }
  for (int64_t lane = 0; lane < columns; ++lane) {
    y[lane] = static_cast<float>(totals[static_cast<size_t>(lane)] * scale);
  }
}

template <typename Op>
class Reduce final : public Kernel {
 public:
  explicit Reduce(const NodeView& node)
      : extents_(*extents_of(node)),
        scale_(node.op() == "ReduceMean" ? 1.0 / static_cast<double>(extents_.reduced) : 1.0) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<float>();
    auto* y = args.outputs[0].as<float>();
    const Extents& e = extents_;
    if (e.inner == 1) {
      parallel_for(e.outer, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<float>(reduce_row<Op>(x + i * e.reduced, e.reduced) * scale_);
        }
      });
      return;
    }
    const int64_t pieces = (e.inner + kLanes - 1) / kLanes;
    parallel_for(e.outer * pieces, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % pieces * kLanes;
        const int64_t outer = i / pieces;
        reduce_columns<Op>(x + outer * e.reduced * e.inner + column, e.reduced, e.inner,
                           std::min(kLanes, e.inner - column), scale_,
                           y + outer * e.inner + column);
      }
    });
  }

 private:
  Extents extents_;
  double scale_;
};

template <typename Op>
constexpr KernelDef reduce_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_reduce,
          .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
            return std::make_unique<Reduce<Op>>(node);
          }};
}

}  // namespace

extern const KernelDef kReduceMax = reduce_kernel<Max>("ReduceMax");
extern const KernelDef kReduceMean = reduce_kernel<ReduceSum>("ReduceMean");
extern const KernelDef kReduceMin = reduce_kernel<Min>("ReduceMin");
extern const KernelDef kReduceSum = reduce_kernel<ReduceSum>("ReduceSum");
extern const KernelDef kReduceSumSquare = reduce_kernel<SumSquare>("ReduceSumSquare");

}  // namespace trainyard::kernels::native
