// Optimizer steps that need norms first: Lars and Lamb (of each tensor), ClipByGlobalNorm and
// GlobalNorm (of all). Two
// passes over all tensors in chunks; partial sums are added in the order of the chunks, whatever
// the threads.
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/training/multi_tensor.h"
#include "engine/kernels/native/vector_math.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_norms(const NodeView& node, size_t first) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;  // the rate, or a tensor
  for (size_t i = first; i < node.num_inputs(); ++i) {
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  return "";
}

double sum_of_squares(const float* x, const Chunk& chunk) {
  // Short enough to sum in float.
  constexpr int64_t kRun = 2048;
  double total = 0;
  for (int64_t begin = chunk.begin; begin < chunk.end; begin += kRun) {
    const int64_t end = std::min(chunk.end, begin + kRun);
    __m256 even = _mm256_setzero_ps();
    __m256 odd = _mm256_setzero_ps();
    int64_t i = begin;
    for (; i + 2 * kVector <= end; i += 2 * kVector) {
      const __m256 a = _mm256_loadu_ps(x + i);
      const __m256 b = _mm256_loadu_ps(x + i + kVector);
      even = _mm256_fmadd_ps(a, a, even);
      odd = _mm256_fmadd_ps(b, b, odd);
    }
    total += static_cast<double>(sum_of(_mm256_add_ps(even, odd)));
    for (; i < end; ++i) total += double{x[i]} * double{x[i]};
  }
  return total;
}

// Calls f(index, chunk) for all chunks on all threads.
template <typename F>
void for_each_chunk_of(const std::vector<Chunk>& chunks, const F& f) {
  parallel_for(static_cast<int64_t>(chunks.size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      f(static_cast<size_t>(i), chunks[static_cast<size_t>(i)]);
    }
  });
}

// Sums of squares of a tensor, and of what moves it.
struct Norms {
  double x;
  double move;
};

// From the sums of each chunk to the rate of its tensor, in Norms::x. The sums of a tensor's chunks
// come together in its first.
template <typename F>
void rate_of_tensors(const std::vector<Chunk>& chunks, Norms* norms, const F& rate_of) {
  for (size_t i = 0; i < chunks.size();) {
    size_t next = i + 1;
    for (; next < chunks.size() && chunks[next].tensor == chunks[i].tensor; ++next) {
      norms[i].x += norms[next].x;
      norms[i].move += norms[next].move;
    }
    const double rate = rate_of(norms[i]);
    for (; i < next; ++i) norms[i].x = rate;
  }
}

// With a double of scratch for each chunk.
double norm_of_all(const KernelArgs& args, const std::vector<Chunk>& chunks) {
  auto* parts = reinterpret_cast<double*>(args.scratch.data());
  for_each_chunk_of(chunks, [&](size_t i, const Chunk& chunk) {
    parts[i] = sum_of_squares(args.inputs[chunk.tensor].as<float>(), chunk);
  });
  double sum = 0;
  for (size_t i = 0; i < chunks.size(); ++i) sum += parts[i];
  return std::sqrt(sum);
}

class ClipByGlobalNorm final : public Kernel {
 public:
  ClipByGlobalNorm(const NodeView& node, const NodeLayouts& layouts)
      : limit_(node.attr_float("max_norm", 0)),
        chunks_(chunks_of(node, layouts.inputs, 0, node.num_inputs())) {}

  void run(const KernelArgs& args) const override {
    const double norm = norm_of_all(args, chunks_);
    *args.outputs[args.inputs.size()].as<float>() = static_cast<float>(norm);
    const auto factor = static_cast<float>(norm > limit_ ? limit_ / norm : 1.0);
    for_each_chunk_of(chunks_, [&](size_t, const Chunk& chunk) {
      const float* x = args.inputs[chunk.tensor].as<float>();
      float* y = args.outputs[chunk.tensor].as<float>();
      for (int64_t i = chunk.begin; i < chunk.end; ++i) y[i] = factor * x[i];
    });
  }

  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(chunks_.size() * sizeof(double));
  }

 private:
  double limit_;
  std::vector<Chunk> chunks_;
};

class GlobalNorm final : public Kernel {
 public:
  GlobalNorm(const NodeView& node, const NodeLayouts& layouts)
      : chunks_(chunks_of(node, layouts.inputs, 0, node.num_inputs())) {}

  void run(const KernelArgs& args) const override {
    *args.outputs[0].as<float>() = static_cast<float>(norm_of_all(args, chunks_));
  }

  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(chunks_.size() * sizeof(double));
  }

 private:
  std::vector<Chunk> chunks_;
};

class Lars final : public Kernel {
 public:
  Lars(const NodeView& node, const NodeLayouts& layouts)
      : alpha_(node.attr_float("alpha", 0)),
        trust_(node.attr_float("trust", 1e-3F)),
        decay_(node.attr_float("weight_decay", 0)),
        tensors_((node.num_inputs() - kFirstTensor) / 3),
        chunks_(chunks_of(node, layouts.inputs, kFirstTensor, tensors_)) {}

  void run(const KernelArgs& args) const override {
    auto* norms = reinterpret_cast<Norms*>(args.scratch.data());
    for_each_chunk_of(chunks_, [&](size_t i, const Chunk& chunk) {
      norms[i] = {sum_of_squares(input(args, 0, chunk), chunk),
                  sum_of_squares(input(args, 1, chunk), chunk)};
    });
    const double rate = double{*args.inputs[0].as<float>()};
    rate_of_tensors(chunks_, norms, [&](const Norms& squares) { return rate * own_rate(squares); });
    for_each_chunk_of(chunks_, [&](size_t i, const Chunk& chunk) {
      step(args, chunk, static_cast<float>(norms[i].x));
    });
  }

  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(chunks_.size() * sizeof(Norms));
  }

 private:
  // 1 where a norm is zero.
  double own_rate(const Norms& squares) const {
    const double size = std::sqrt(squares.x);
    const double slope = std::sqrt(squares.move);
    return size > 0 && slope > 0 ? trust_ * size / (slope + double{decay_} * size) : 1.0;
  }

  const float* input(const KernelArgs& args, size_t group, const Chunk& chunk) const {
    return args.inputs[kFirstTensor + group * tensors_ + chunk.tensor].as<float>();
  }

  void step(const KernelArgs& args, const Chunk& chunk, float rate) const {
    const float* x = input(args, 0, chunk);
    const float* gradient = input(args, 1, chunk);
    const float* momentum = input(args, 2, chunk);
    float* new_x = args.outputs[chunk.tensor].as<float>();
    float* new_momentum = args.outputs[tensors_ + chunk.tensor].as<float>();
    for (int64_t i = chunk.begin; i < chunk.end; ++i) {
      const float m = alpha_ * momentum[i] + rate * (gradient[i] + decay_ * x[i]);
      new_x[i] = x[i] - m;
      new_momentum[i] = m;
    }
  }

  float alpha_;
  double trust_;
  float decay_;
  size_t tensors_;
  std::vector<Chunk> chunks_;
};

class Lamb final : public Kernel {
 public:
  Lamb(const NodeView& node, const NodeLayouts& layouts)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        decay_(node.attr_float("weight_decay", 0)),
        tensors_((node.num_inputs() - kFirstTensor) / 4),
        chunks_(chunks_of(node, layouts.inputs, kFirstTensor, tensors_)) {}

  // The first pass leaves the new means in the outputs, the second makes the move from them again.
  void run(const KernelArgs& args) const override {
    const auto count = static_cast<double>(*args.inputs[1].as<int64_t>());
    const auto share = [&](double of) { return count > 0 ? 1 - std::pow(of, count) : 1.0; };
    const auto scale = static_cast<float>(1 / share(double{alpha_}));
    const auto root = static_cast<float>(1 / std::sqrt(share(double{beta_})));
    auto* norms = reinterpret_cast<Norms*>(args.scratch.data());
    for_each_chunk_of(chunks_, [&](size_t i, const Chunk& chunk) {
      norms[i] = {sum_of_squares(input(args, 0, chunk), chunk),
                  move_means(args, chunk, scale, root)};
    });
    const double rate = double{*args.inputs[0].as<float>()};
    rate_of_tensors(chunks_, norms, [&](const Norms& squares) {
      return squares.x > 0 && squares.move > 0 ? rate * std::sqrt(squares.x / squares.move) : rate;
    });
    for_each_chunk_of(chunks_, [&](size_t i, const Chunk& chunk) {
      const auto own = static_cast<float>(norms[i].x);
      const float* x = input(args, 0, chunk);
      const float* mean = output(args, 1, chunk);
      const float* square = output(args, 2, chunk);
      float* new_x = output(args, 0, chunk);
      for (int64_t e = chunk.begin; e < chunk.end; ++e) {
        new_x[e] = x[e] - own * move(x[e], mean[e], square[e], scale, root);
      }
    });
  }

  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(chunks_.size() * sizeof(Norms));
  }

 private:
  const float* input(const KernelArgs& args, size_t group, const Chunk& chunk) const {
    return args.inputs[kFirstTensor + group * tensors_ + chunk.tensor].as<float>();
  }
  float* output(const KernelArgs& args, size_t group, const Chunk& chunk) const {
    return args.outputs[group * tensors_ + chunk.tensor].as<float>();
  }

  float move(float x, float mean, float square, float scale, float root) const {
    return scale * mean / (root * std::sqrt(square) + epsilon_) + decay_ * x;
  }

  // Returns the sum of squares of the move.
  double move_means(const KernelArgs& args, const Chunk& chunk, float scale, float root) const {
    const float* x = input(args, 0, chunk);
    const float* gradient = input(args, 1, chunk);
    const float* mean = input(args, 2, chunk);
    const float* square = input(args, 3, chunk);
    float* new_mean = output(args, 1, chunk);
    float* new_square = output(args, 2, chunk);
    double sum = 0;
    for (int64_t e = chunk.begin; e < chunk.end; ++e) {
      const float g = gradient[e];
      new_mean[e] = alpha_ * mean[e] + (1 - alpha_) * g;
      new_square[e] = beta_ * square[e] + (1 - beta_) * g * g;
      const double moved{move(x[e], new_mean[e], new_square[e], scale, root)};
      sum += moved * moved;
    }
    return sum;
  }

  float alpha_;
  float beta_;
  float epsilon_;
  float decay_;
  size_t tensors_;
  std::vector<Chunk> chunks_;
};

std::optional<NodeLayouts> clip_layouts(const NodeView& /*node*/, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.assign(inputs.begin(), inputs.end());
  wanted.outputs = wanted.inputs;
  wanted.outputs.push_back({});
  return wanted;
}

std::optional<NodeLayouts> norm_layouts(const NodeView& /*node*/, std::span<const Layout> inputs) {
  return NodeLayouts{.inputs = {inputs.begin(), inputs.end()}, .outputs = {Layout{}}};
}

template <typename K>
std::unique_ptr<Kernel> create_norms(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<K>(node, layouts);
}

}  // namespace

extern const KernelDef kClipByGlobalNorm = {
    .op = "ClipByGlobalNorm",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_norms(node, 0); },
    .layouts = clip_layouts,
    .create_in = create_norms<ClipByGlobalNorm>};
extern const KernelDef kLars = {
    .op = "Lars",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_norms(node, kFirstTensor); },
    .layouts = [](const NodeView& node, std::span<const Layout> inputs)
        -> std::optional<NodeLayouts> { return optimizer_layouts(node, inputs, 3); },
    .create_in = create_norms<Lars>};

extern const KernelDef kLamb = {
    .op = "Lamb",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_norms(node, kFirstTensor); },
    .layouts = [](const NodeView& node, std::span<const Layout> inputs)
        -> std::optional<NodeLayouts> { return optimizer_layouts(node, inputs, 4); },
    .create_in = create_norms<Lamb>};
extern const KernelDef kGlobalNorm = {
    .op = "GlobalNorm",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_norms(node, 0); },
    .layouts = norm_layouts,
    .create_in = create_norms<GlobalNorm>};

}  // namespace trainyard::kernels::native
