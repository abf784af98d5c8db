// Functions of one element that oneDNN does not have, in whatever dense layout their input has.
#include <algorithm>
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

// `alpha` and `beta` are the node's.
using UnaryFunction = void (*)(const float* x, int64_t count, float alpha, float beta, float* y);

template <typename F>
void apply_unary(const float* x, int64_t count, float alpha, float beta, float* y) {
  const F f;
  for (int64_t i = 0; i < count; ++i) y[i] = f(x[i], alpha, beta);
}

struct Negated {
  float operator()(float x, float, float) const { return -x; }
};
struct Inverse {
  float operator()(float x, float, float) const { return 1.0F / x; }
};
struct RoundedDown {
  float operator()(float x, float, float) const { return std::floor(x); }
};
struct RoundedUp {
  float operator()(float x, float, float) const { return std::ceil(x); }
};
// Ties to even.
struct RoundedToNearest {
  float operator()(float x, float, float) const { return std::nearbyint(x); }
};
struct SignOf {
  float operator()(float x, float, float) const { return x > 0 ? 1.0F : x < 0 ? -1.0F : x; }
};
struct LogarithmOf {
  float operator()(float x, float, float) const { return std::log(x); }
};
struct SineOf {
  float operator()(float x, float, float) const { return std::sin(x); }
};
struct CosineOf {
  float operator()(float x, float, float) const { return std::cos(x); }
};
struct HardSigmoidOf {
  float operator()(float x, float alpha, float beta) const {
    const float line = alpha * x + beta;
    const float above = line > 0.0F || std::isnan(line) ? line : 0.0F;
    return above < 1.0F || std::isnan(above) ? above : 1.0F;
  }
};
struct SoftsignOf {
  float operator()(float x, float, float) const { return x / (1.0F + std::fabs(x)); }
};

// erf(x) = 2 P(x sqrt(2)) - 1 loses digits near zero, where the series is exact to single
// precision.
void error_function(const float* x, int64_t count, float /*alpha*/, float /*beta*/, float* y) {
  const auto erf_of = [](__m256 v) {
    const __m256 one = _mm256_set1_ps(1.0F);
    const auto normal = normal_vector(_mm256_mul_ps(v, _mm256_set1_ps(1.41421356F)));
    const __m256 far = minus(plus(normal.below, normal.below), one);
    const __m256 square = times(v, v);
    // 2 / sqrt(pi) times 1, -1/3, 1/10, -1/42, 1/216, -1/1320, 1/9360
    const __m256 series =
        polynomial(square, {1.20554e-4F, -8.54832e-4F, 5.22397763e-3F, -2.68661706e-2F,
                            1.12837917e-1F, -3.76126389e-1F, 1.12837917F});
    return where_less(magnitude_of(v), _mm256_set1_ps(0.5F), times(v, series), far);
  };
  int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    _mm256_storeu_ps(y + i, erf_of(_mm256_loadu_ps(x + i)));
  }
  if (i == count) return;
  alignas(32) float rest[kVector] = {};
  std::copy_n(x + i, count - i, rest);
  _mm256_store_ps(rest, erf_of(_mm256_load_ps(rest)));
  std::copy_n(rest, count - i, y + i);
}

struct UnaryRow {
  std::string_view op;
  UnaryFunction function;
  bool keeps_zero;  // so that padding stays zero
  float alpha = 0;  // if the node does not say
  float beta = 0;
};

constexpr UnaryRow kUnaryRows[] = {
    {"Ceil", apply_unary<RoundedUp>, true},
    {"Cos", apply_unary<CosineOf>, false},
    {"Erf", error_function, true},
    {"Floor", apply_unary<RoundedDown>, true},
    {"HardSigmoid", apply_unary<HardSigmoidOf>, false, 0.2F, 0.5F},
    {"Log", apply_unary<LogarithmOf>, false},
    {"Neg", apply_unary<Negated>, true},
    {"Reciprocal", apply_unary<Inverse>, false},
    {"Round", apply_unary<RoundedToNearest>, true},
    {"Sign", apply_unary<SignOf>, true},
    {"Sin", apply_unary<SineOf>, true},
    {"Softsign", apply_unary<SoftsignOf>, true},
};

const UnaryRow& unary_row(const NodeView& node) {
  return *std::find_if(std::begin(kUnaryRows), std::end(kUnaryRows),
                       [&](const UnaryRow& row) { return row.op == node.op(); });
}

std::string_view refuses_unary(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

class Unary final : public Kernel {
 public:
  Unary(const NodeView& node, int64_t count)
      : function_(unary_row(node).function),
        alpha_(node.attr_float("alpha", unary_row(node).alpha)),
        beta_(node.attr_float("beta", unary_row(node).beta)),
        count_(count) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    auto* y = args.outputs[0].as<float>();
    constexpr int64_t kPiece = 64;
    parallel_for((count_ + kPiece - 1) / kPiece, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kPiece;
      function_(x + first, std::min(end * kPiece, count_) - first, alpha_, beta_, y + first);
    });
  }

 private:
  UnaryFunction function_;
  float alpha_;
  float beta_;
  int64_t count_;
};

std::optional<NodeLayouts> layouts_unary(const NodeView& node, std::span<const Layout> inputs) {
  const Shape& shape = node.input_shape(0);
  Layout layout = inputs[0];
  const int64_t block = shape.rank() >= 2 ? layout.block_of(1) : 1;
  if (block > 1 && !unary_row(node).keeps_zero && shape[1] % block != 0) layout = Layout();
  return NodeLayouts{.inputs = {layout}, .outputs = {layout}, .in_place_input = 0};
}

constexpr KernelDef unary_kernel(std::string_view op) {
  return {
      .op = op,
      .library = "native",
      .refuses = refuses_unary,
      .layouts = layouts_unary,
      .create_in = [](const NodeView& node, const NodeLayouts& layouts) -> std::unique_ptr<Kernel> {
        return std::make_unique<Unary>(node, layouts.inputs[0].span_elements(node.input_shape(0)));
      }};
}

}  // namespace

#define UNARY(name) extern const KernelDef k##name = unary_kernel(#name);
UNARY(Ceil)
UNARY(Cos)
UNARY(Erf)
UNARY(Floor)
UNARY(HardSigmoid)
UNARY(Log)
UNARY(Neg)
UNARY(Reciprocal)
UNARY(Round)
UNARY(Sign)
UNARY(Sin)
UNARY(Softsign)
#undef UNARY

}  // namespace trainyard::kernels::native
