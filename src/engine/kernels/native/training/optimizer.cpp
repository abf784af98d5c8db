// Momentum, Adagrad, Adam, AdamW, RmsProp, Lion and MovingAverage on vectors: one pass over all
// tensors, each element read and written once. New tensors and states may lie where the old ones
// do.
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/training/multi_tensor.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_optimizer(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (i != 1 && node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  return "";
}

// Numbers below the normal range count as 0 while it lives. The moments of a weight whose gradient
// is 0 from some update on (a unit that is never active) shrink into that range and stay there,
// and the processor takes a hundred times as long for each.
class FlushTiny {
 public:
  FlushTiny() : before_(control()) { set_control(before_ | kFlush); }
  ~FlushTiny() { set_control(before_); }
  FlushTiny(const FlushTiny&) = delete;
  FlushTiny& operator=(const FlushTiny&) = delete;

 private:
#if defined(__x86_64__)
  static unsigned control() {
    return _mm_getcsr();
  }
  static void set_control(unsigned word) {
    _mm_setcsr(word);
  }
  static constexpr unsigned kFlush = 0x8040;  // results and operands
#elif defined(__aarch64__)
  static unsigned control() {
    return __builtin_aarch64_get_fpcr();
  }
  static void set_control(unsigned word) {
    __builtin_aarch64_set_fpcr(word);
  }
  static constexpr unsigned kFlush = 1U << 24U;  // results and operands
#else
  static unsigned control() {
    return 0;
  }
  static void set_control(unsigned /*word*/) {}
  static constexpr unsigned kFlush = 0;
#endif
  unsigned before_;
};

// An optimizer says how many operands it has per tensor (kGroups: tensor, gradient, states), and
// makes a step from the learning rate and the update count: step(in, out) turns them into the new
// tensor and states.
template <typename Optimizer>
class OptimizerKernel final : public Kernel {
 public:
  OptimizerKernel(const NodeView& node, const NodeLayouts& layouts)
      : optimizer_(node),
        tensors_((node.num_inputs() - kFirstTensor) / kGroups),
        chunks_(chunks_of(node, layouts.inputs, kFirstTensor, tensors_)) {}

  void run(const KernelArgs& args) const override {
    const auto step = optimizer_.step(*args.inputs[0].as<float>(), *args.inputs[1].as<int64_t>());
    parallel_for(static_cast<int64_t>(chunks_.size()), [&](int64_t begin, int64_t end) {
      const FlushTiny flush;
      for (int64_t i = begin; i < end; ++i) run_chunk(args, step, chunks_[static_cast<size_t>(i)]);
    });
  }

 private:
  static constexpr size_t kGroups = Optimizer::kGroups;

  template <typename Step>
  void run_chunk(const KernelArgs& args, const Step& step, const Chunk& chunk) const {
    const float* in[kGroups];
    float* out[kGroups - 1];
    for (size_t g = 0; g < kGroups; ++g) {
      in[g] = args.inputs[kFirstTensor + g * tensors_ + chunk.tensor].template as<float>();
      if (g + 1 < kGroups) out[g] = args.outputs[g * tensors_ + chunk.tensor].template as<float>();
    }
    int64_t i = chunk.begin;
    for (; i + kVector <= chunk.end; i += kVector) run_vector(step, in, out, i);
    if (i < chunk.end) run_rest(step, in, out, i, chunk.end - i);
  }

  template <typename Step>
  static void run_vector(const Step& step, const float* const* in, float* const* out, int64_t i) {
    __m256 x[kGroups];
    __m256 y[kGroups - 1];
    for (size_t g = 0; g < kGroups; ++g) x[g] = _mm256_loadu_ps(in[g] + i);
    step(x, y);
    for (size_t g = 0; g + 1 < kGroups; ++g) _mm256_storeu_ps(out[g] + i, y[g]);
  }

  template <typename Step>
  static void run_rest(const Step& step, const float* const* in, float* const* out, int64_t i,
                       int64_t count) {
    float x[kGroups][kVector] = {};
    float y[kGroups - 1][kVector];
    const float* x_at[kGroups];
    float* y_at[kGroups - 1];
    for (size_t g = 0; g < kGroups; ++g) {
      std::copy_n(in[g] + i, count, x[g]);
      x_at[g] = x[g];
      if (g + 1 < kGroups) y_at[g] = y[g];
    }
    run_vector(step, x_at, y_at, 0);
    for (size_t g = 0; g + 1 < kGroups; ++g) std::copy_n(y[g], count, out[g] + i);
  }

  Optimizer optimizer_;
  size_t tensors_;
  std::vector<Chunk> chunks_;
};

class Momentum {
 public:
  static constexpr size_t kGroups = 3;

  explicit Momentum(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0)),
        beta_(node.attr_float("beta", 0)),
        norm_(node.attr_float("norm_coefficient", 0)),
        nesterov_(node.attr_text("mode", "") == "nesterov") {}

  auto step(float rate, int64_t count) const {
    const __m256 r = _mm256_set1_ps(rate);
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 beta = _mm256_set1_ps(count > 0 ? beta_ : 1.0F);
    const __m256 norm = _mm256_set1_ps(norm_);
    return [=, nesterov = nesterov_](const __m256* in, __m256* out) {
      const __m256 gradient = _mm256_fmadd_ps(norm, in[0], in[1]);
      out[1] = _mm256_fmadd_ps(alpha, in[2], _mm256_mul_ps(beta, gradient));
      const __m256 move = nesterov ? _mm256_fmadd_ps(alpha, out[1], gradient) : out[1];
      out[0] = _mm256_fnmadd_ps(r, move, in[0]);
    };
  }

 private:
  float alpha_;
  float beta_;
  float norm_;
  bool nesterov_;
};

class Adam {
 public:
  static constexpr size_t kGroups = 4;

  explicit Adam(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        norm_(node.attr_float("norm_coefficient", 0)),
        norm_post_(node.attr_float("norm_coefficient_post", 0)) {}

  auto step(float rate, int64_t count) const {
    double adjusted = rate;
    if (count > 0) {
      const auto n = static_cast<double>(count);
      adjusted *= std::sqrt(1 - std::pow(double{beta_}, n)) / (1 - std::pow(double{alpha_}, n));
    }
    const __m256 r = _mm256_set1_ps(static_cast<float>(adjusted));
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 beta = _mm256_set1_ps(beta_);
    const __m256 new_mean = _mm256_set1_ps(1 - alpha_);
    const __m256 new_square = _mm256_set1_ps(1 - beta_);
    const __m256 epsilon = _mm256_set1_ps(epsilon_);
    const __m256 norm = _mm256_set1_ps(norm_);
    const __m256 kept = _mm256_set1_ps(1 - norm_post_);
    return [=](const __m256* in, __m256* out) {
      const __m256 gradient = _mm256_fmadd_ps(norm, in[0], in[1]);
      out[1] = _mm256_fmadd_ps(alpha, in[2], _mm256_mul_ps(new_mean, gradient));
      out[2] = _mm256_fmadd_ps(beta, in[3],
                               _mm256_mul_ps(new_square, _mm256_mul_ps(gradient, gradient)));
      const __m256 move =
          _mm256_div_ps(_mm256_mul_ps(r, out[1]), _mm256_add_ps(_mm256_sqrt_ps(out[2]), epsilon));
      out[0] = _mm256_mul_ps(kept, _mm256_sub_ps(in[0], move));
    };
  }

 private:
  float alpha_;
  float beta_;
  float epsilon_;
  float norm_;
  float norm_post_;
};

class RmsProp {
 public:
  static constexpr size_t kGroups = 4;

  explicit RmsProp(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.95F)),
        epsilon_(node.attr_float("epsilon", 0.01F)),
        norm_(node.attr_float("norm_coefficient", 0)) {}

  auto step(float rate, int64_t /*count*/) const {
    const __m256 r = _mm256_set1_ps(rate);
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 fresh = _mm256_set1_ps(1 - alpha_);
    const __m256 epsilon = _mm256_set1_ps(epsilon_);
    const __m256 norm = _mm256_set1_ps(norm_);
    return [=](const __m256* in, __m256* out) {
      const __m256 gradient = _mm256_fmadd_ps(norm, in[0], in[1]);
      out[1] = _mm256_fmadd_ps(alpha, in[2], _mm256_mul_ps(fresh, gradient));
      out[2] =
          _mm256_fmadd_ps(alpha, in[3], _mm256_mul_ps(fresh, _mm256_mul_ps(gradient, gradient)));
      const __m256 variance =
          _mm256_max_ps(_mm256_setzero_ps(), _mm256_fnmadd_ps(out[1], out[1], out[2]));
      const __m256 move = _mm256_div_ps(gradient, _mm256_add_ps(_mm256_sqrt_ps(variance), epsilon));
      out[0] = _mm256_fnmadd_ps(r, move, in[0]);
    };
  }

 private:
  float alpha_;
  float epsilon_;
  float norm_;
};

class Adagrad {
 public:
  static constexpr size_t kGroups = 3;

  explicit Adagrad(const NodeView& node)
      : decay_(node.attr_float("decay_factor", 0)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        norm_(node.attr_float("norm_coefficient", 0)) {}

  auto step(float rate, int64_t count) const {
    const __m256 r = _mm256_set1_ps(rate / (1 + static_cast<float>(count) * decay_));
    const __m256 norm = _mm256_set1_ps(norm_);
    const __m256 epsilon = _mm256_set1_ps(epsilon_);
    return [=](const __m256* in, __m256* out) {
      const __m256 gradient = _mm256_fmadd_ps(norm, in[0], in[1]);
      out[1] = _mm256_fmadd_ps(gradient, gradient, in[2]);
      const __m256 move = _mm256_div_ps(gradient, _mm256_add_ps(_mm256_sqrt_ps(out[1]), epsilon));
      out[0] = _mm256_fnmadd_ps(r, move, in[0]);
    };
  }

 private:
  float decay_;
  float epsilon_;
  float norm_;
};

class AdamW {
 public:
  static constexpr size_t kGroups = 4;

  explicit AdamW(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-8F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  auto step(float rate, int64_t count) const {
    const auto n = static_cast<double>(count);
    const double mean_share = count > 0 ? 1 - std::pow(double{alpha_}, n) : 1.0;
    const double square_share = count > 0 ? 1 - std::pow(double{beta_}, n) : 1.0;
    const __m256 r = _mm256_set1_ps(static_cast<float>(rate / mean_share));
    const __m256 root_share = _mm256_set1_ps(static_cast<float>(1 / std::sqrt(square_share)));
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 beta = _mm256_set1_ps(beta_);
    const __m256 new_mean = _mm256_set1_ps(1 - alpha_);
    const __m256 new_square = _mm256_set1_ps(1 - beta_);
    const __m256 epsilon = _mm256_set1_ps(epsilon_);
    const __m256 kept = _mm256_set1_ps(1 - rate * decay_);
    return [=](const __m256* in, __m256* out) {
      out[1] = _mm256_fmadd_ps(alpha, in[2], _mm256_mul_ps(new_mean, in[1]));
      out[2] = _mm256_fmadd_ps(beta, in[3], _mm256_mul_ps(new_square, _mm256_mul_ps(in[1], in[1])));
      const __m256 root = _mm256_fmadd_ps(_mm256_sqrt_ps(out[2]), root_share, epsilon);
      const __m256 move = _mm256_div_ps(_mm256_mul_ps(r, out[1]), root);
      out[0] = _mm256_fmsub_ps(kept, in[0], move);
    };
  }

 private:
  float alpha_;
  float beta_;
  float epsilon_;
  float decay_;
};

class Lion {
 public:
  static constexpr size_t kGroups = 3;

  explicit Lion(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.99F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  auto step(float rate, int64_t /*count*/) const {
    const __m256 r = _mm256_set1_ps(rate);
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 beta = _mm256_set1_ps(beta_);
    const __m256 in_mean = _mm256_set1_ps(1 - alpha_);
    const __m256 in_momentum = _mm256_set1_ps(1 - beta_);
    const __m256 kept = _mm256_set1_ps(1 - rate * decay_);
    return [=](const __m256* in, __m256* out) {
      const __m256 zero = _mm256_setzero_ps();
      const __m256 mean = _mm256_fmadd_ps(alpha, in[2], _mm256_mul_ps(in_mean, in[1]));
      const __m256 up = _mm256_and_ps(_mm256_cmp_ps(mean, zero, _CMP_GT_OQ), r);
      const __m256 down = _mm256_and_ps(_mm256_cmp_ps(mean, zero, _CMP_LT_OQ), r);
      out[1] = _mm256_fmadd_ps(beta, in[2], _mm256_mul_ps(in_momentum, in[1]));
      out[0] = _mm256_add_ps(_mm256_fmsub_ps(kept, in[0], up), down);
    };
  }

 private:
  float alpha_;
  float beta_;
  float decay_;
};

class MovingAverage {
 public:
  static constexpr size_t kGroups = 2;

  explicit MovingAverage(const NodeView& /*node*/) {}

  auto step(float share, int64_t /*count*/) const {
    const __m256 s = _mm256_set1_ps(share);
    return [=](const __m256* in, __m256* out) {
      out[0] = _mm256_fmadd_ps(s, _mm256_sub_ps(in[1], in[0]), in[0]);
    };
  }
};

template <typename Optimizer>
std::optional<NodeLayouts> layouts_optimizer(const NodeView& node, std::span<const Layout> inputs) {
  return optimizer_layouts(node, inputs, Optimizer::kGroups);
}

template <typename Optimizer>
std::unique_ptr<Kernel> create_optimizer(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<OptimizerKernel<Optimizer>>(node, layouts);
}

template <typename Optimizer>
constexpr KernelDef optimizer_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_optimizer,
          .layouts = layouts_optimizer<Optimizer>,
          .create_in = create_optimizer<Optimizer>};
}

}  // namespace

extern const KernelDef kAdagrad = optimizer_kernel<Adagrad>("Adagrad");
extern const KernelDef kAdam = optimizer_kernel<Adam>("Adam");
extern const KernelDef kAdamW = optimizer_kernel<AdamW>("AdamW");
extern const KernelDef kLion = optimizer_kernel<Lion>("Lion");
extern const KernelDef kMovingAverage = optimizer_kernel<MovingAverage>("MovingAverage");
extern const KernelDef kRmsProp = optimizer_kernel<RmsProp>("RmsProp");
extern const KernelDef kMomentum = optimizer_kernel<Momentum>("Momentum");

}  // namespace trainyard::kernels::native
