// tanh and swish of many numbers, and Tanh and Swish in whatever dense layout their input has.
#include "engine/kernels/native/elementwise/smooth.h"

#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vector_math.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

template <typename F>
void apply_smooth(const float* x, int64_t count, float* y, const F& f) {
  int64_t i = 0;
  for (; i + kVector <= count; i += kVector) _mm256_storeu_ps(y + i, f(_mm256_loadu_ps(x + i)));
  if (i == count) return;
  alignas(32) float rest[kVector] = {};
  std::copy_n(x + i, count - i, rest);
  _mm256_store_ps(rest, f(_mm256_load_ps(rest)));
  std::copy_n(rest, count - i, y + i);
}

void narrow_tanh(const float* x, int64_t count, float /*alpha*/, float* y) {
  apply_smooth(x, count, y, [](__m256 v) { return tanh_vector(v); });
}

void narrow_swish(const float* x, int64_t count, float alpha, float* y) {
  const __m256 slope = _mm256_set1_ps(-alpha);
  const __m256 one = _mm256_set1_ps(1.0F);
  apply_smooth(x, count, y,
               [&](__m256 v) { return over(v, plus(one, exp_vector(times(v, slope)))); });
}

using SmoothFunction = void (*)(const float*, int64_t, float, float*);

// Cut between vectors of either width, so that an element's place in one does not depend on
// threads.
void in_parts(SmoothFunction function, const float* x, int64_t count, float alpha, float* y) {
  constexpr int64_t kPiece = 16;
  parallel_for((count + kPiece - 1) / kPiece, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kPiece;
    function(x + first, std::min(end * kPiece, count) - first, alpha, y + first);
  });
}

std::string_view refuses_smooth(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

class Tanh final : public Kernel {
 public:
  Tanh(const NodeView& /*node*/, int64_t count) : count_(count) {}

  void run(const KernelArgs& args) const override {
    tanh_of(args.inputs[0].as<float>(), count_, args.outputs[0].as<float>());
  }

 private:
  int64_t count_;
};

class Swish final : public Kernel {
 public:
  Swish(const NodeView& node, int64_t count)
      : alpha_(node.attr_float("alpha", 1.0F)), count_(count) {}

  void run(const KernelArgs& args) const override {
    swish_of(args.inputs[0].as<float>(), count_, alpha_, args.outputs[0].as<float>());
  }

 private:
  float alpha_;
  int64_t count_;
};

// Padding is zero and stays so.
std::optional<NodeLayouts> layouts_smooth(const NodeView& /*node*/,
                                          std::span<const Layout> inputs) {
  return NodeLayouts{.inputs = {inputs[0]}, .outputs = {inputs[0]}, .in_place_input = 0};
}

template <typename K>
std::unique_ptr<Kernel> create_smooth(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<K>(node, layouts.inputs[0].span_elements(node.input_shape(0)));
}

template <typename K>
constexpr KernelDef smooth_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_smooth,
          .layouts = layouts_smooth,
          .create_in = create_smooth<K>};
}

}  // namespace

void tanh_of(const float* x, int64_t count, float* y) {
  in_parts(cpu_has_avx512() ? wide_tanh : narrow_tanh, x, count, 0.0F, y);
}

void swish_of(const float* x, int64_t count, float alpha, float* y) {
  in_parts(cpu_has_avx512() ? wide_swish : narrow_swish, x, count, alpha, y);
}

extern const KernelDef kSwish = smooth_kernel<Swish>("Swish");
extern const KernelDef kTanh = smooth_kernel<Tanh>("Tanh");

}  // namespace trainyard::kernels::native
