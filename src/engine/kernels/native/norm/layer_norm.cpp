// LayerNormalization and RMSNormalization of rows, with a factor (and a summand) for each column.
#include <algorithm>
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/norm/row_sum.h"
#include "engine/kernels/parallel/parallel.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

struct NormRows {
  int64_t rows = 1;
  int64_t columns = 1;
  float epsilon = 1e-5F;
  bool centered = true;  // as opposed to RMSNormalization
};

NormRows norm_rows(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.rank(), node.op());
  return {.rows = x.num_elements(0, axis),
          .columns = x.num_elements(axis, x.rank()),
          .epsilon = node.attr_float("epsilon", 1e-5F),
          .centered = node.op() == "LayerNormalization"};
}

// A factor for each column, the same for all rows. As many factors may as well be one for each row.
bool is_of_columns(const Shape& factors, const Shape& x, int64_t axis) {
  for (int64_t i = 1; i <= std::max(factors.rank(), x.rank()); ++i) {
    const int64_t factor = i <= factors.rank() ? factors[factors.rank() - i] : 1;
    const int64_t wanted = i <= x.rank() - axis ? x[x.rank() - i] : 1;
    if (factor != wanted) return false;
  }
  return true;
}

std::string_view refuses_layer_norm(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  const NormRows norm = norm_rows(node);
  const Shape& x = node.input_shape(0);
  const int64_t axis = normalize_axis(node.attr_int("axis", -1), x.rank(), node.op());
  if (norm.rows == 0 || norm.columns == 0) return "the input is empty";
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
    if (i > 0 && !is_of_columns(node.input_shape(i), x, axis)) {
      return "factors that are not one for each column are not implemented";
    }
  }
  if (node.has_output(1) || node.has_output(2)) return "mean and deviation are not given";
  return "";
}

class LayerNormKernel final : public Kernel {
 public:
  explicit LayerNormKernel(const NodeView& node) : norm_(norm_rows(node)) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    const auto* scale = args.inputs[1].as<const float>();
    const float* shift = args.inputs.size() > 2 ? args.inputs[2].as<const float>() : nullptr;
    auto* y = args.outputs[0].as<float>();
    parallel_for(norm_.rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * norm_.columns;
        if (shift != nullptr) {
          run_row<true>(x + at, scale, shift, y + at);
        } else {
          run_row<false>(x + at, scale, shift, y + at);
        }
      }
    });
  }

 private:
  template <bool kShifts>
  void run_row(const float* x, const float* scale, const float* shift, float* y) const {
    const int64_t count = norm_.columns;
    const RowMoments moments = norm_.centered ? row_moments(x, count) : row_square(x, count);
    const float mean = moments.mean;
    const __m256 means = _mm256_set1_ps(mean);
    const float factor = 1.0F / std::sqrt(moments.variance + norm_.epsilon);
    const __m256 factors = _mm256_set1_ps(factor);
    int64_t i = 0;
    for (; i + kVector <= count; i += kVector) {
      const __m256 d = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), means), factors);
      const __m256 s = _mm256_loadu_ps(scale + i);
      const __m256 value =
          kShifts ? _mm256_fmadd_ps(d, s, _mm256_loadu_ps(shift + i)) : _mm256_mul_ps(d, s);
      _mm256_storeu_ps(y + i, value);
    }
    for (; i < count; ++i) {
      const float value = (x[i] - mean) * factor * scale[i];
      y[i] = kShifts ? value + shift[i] : value;
    }
  }

  NormRows norm_;
};

std::unique_ptr<Kernel> create_layer_norm(const NodeView& node) {
  return std::make_unique<LayerNormKernel>(node);
}

constexpr KernelDef layer_norm_kernel(std::string_view op) {
  return {
      .op = op, .library = "native", .refuses = refuses_layer_norm, .create = create_layer_norm};
}

}  // namespace

extern const KernelDef kLayerNormalization = layer_norm_kernel("LayerNormalization");
extern const KernelDef kRMSNormalization = layer_norm_kernel("RMSNormalization");

}  // namespace trainyard::kernels::native
