// Steps of optimizers over many tensors, and the clipping of their gradients. The formulas are
// those of the reference kernels.
//
// New values may be the memory of the old ones: each is read before it is written.
#include <cmath>

#include "engine/kernels/torch/plugin/family.h"

namespace trainyard::torch_plugin {
namespace {

// Behind the learning rate and the update count.
constexpr size_t kFirstTensor = 2;

const char* refuses_update(const Node& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (i != 1 && node.input(i).type != kTorchF32) return "only f32 is implemented";
  }
  return "";
}

// One tensor with its gradient and states, and where their new values go.
struct Updated {
  const Tensors& in;
  const Tensors& out;
  size_t tensors;
  size_t tensor;

  const Tensor& old(size_t group) const { return in[kFirstTensor + group * tensors + tensor]; }
  Tensor fresh(size_t group) const { return out[group * tensors + tensor]; }
  const Tensor& x() const { return old(0); }
  // With the decay that is a part of it.
  Tensor gradient(double norm) const { return norm == 0 ? old(1) : at::add(old(1), x(), norm); }
};

// What is the same for all tensors of a step.
struct Step {
  double rate;
  double count;
};

template <typename Rule>
Run make_update(const Node& node) {
  const Rule rule(node);
  return [rule](const Tensors& in, const Tensors& out) {
    const Step step = {in[0].item().toDouble(), in[1].item().toDouble()};
    const size_t tensors = (in.size() - kFirstTensor) / Rule::kGroups;
    for (size_t t = 0; t < tensors; ++t) rule(Updated{in, out, tensors, t}, step);
  };
}

// to = share * old + (rest) * new; `to` may be `old`.
void mix(Tensor to, const Tensor& old, double share, const Tensor& more, double rest) {
  at::mul_out(to, old, share);
  to.add_(more, rest);
}

void mix_squares(Tensor to, const Tensor& old, double share, const Tensor& more, double rest) {
  at::mul_out(to, old, share);
  to.addcmul_(more, more, rest);
}

struct Momentum {
  static constexpr size_t kGroups = 3;
  explicit Momentum(const Node& node)
      : alpha(node.attr_float("alpha", 0)),
        beta(node.attr_float("beta", 0)),
        norm(node.attr_float("norm_coefficient", 0)),
        nesterov(node.attr_text("mode", "") == "nesterov") {}

  void operator()(const Updated& u, const Step& step) const {
    const Tensor gradient = u.gradient(norm);
    Tensor moved = u.fresh(1);
    mix(moved, u.old(2), alpha, gradient, step.count > 0 ? beta : 1.0);
    Tensor x = u.fresh(0);
    at::add_out(x, u.x(), nesterov ? at::add(gradient, moved, alpha) : moved, -step.rate);
  }

  double alpha;
  double beta;
  double norm;
  bool nesterov;
};

struct Adagrad {
  static constexpr size_t kGroups = 3;
  explicit Adagrad(const Node& node)
      : decay(node.attr_float("decay_factor", 0)),
        epsilon(node.attr_float("epsilon", 1e-6F)),
        norm(node.attr_float("norm_coefficient", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const Tensor gradient = u.gradient(norm);
    Tensor squares = u.fresh(1);
    mix_squares(squares, u.old(2), 1, gradient, 1);
    Tensor x = u.fresh(0);
    at::addcdiv_out(x, u.x(), gradient, at::sqrt(squares).add_(epsilon),
                    -step.rate / (1 + step.count * decay));
  }

  double decay;
  double epsilon;
  double norm;
};

struct Adam {
  static constexpr size_t kGroups = 4;
  explicit Adam(const Node& node)
      : alpha(node.attr_float("alpha", 0.9F)),
        beta(node.attr_float("beta", 0.999F)),
        epsilon(node.attr_float("epsilon", 1e-6F)),
        norm(node.attr_float("norm_coefficient", 0)),
        norm_post(node.attr_float("norm_coefficient_post", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    double rate = step.rate;
    if (step.count > 0) {
      rate *= std::sqrt(1 - std::pow(beta, step.count)) / (1 - std::pow(alpha, step.count));
    }
    const Tensor gradient = u.gradient(norm);
    Tensor mean = u.fresh(1);
    Tensor square = u.fresh(2);
    mix(mean, u.old(2), alpha, gradient, 1 - alpha);
    mix_squares(square, u.old(3), beta, gradient, 1 - beta);
    Tensor x = u.fresh(0);
    at::addcdiv_out(x, u.x(), mean, at::sqrt(square).add_(epsilon), -rate);
    if (norm_post != 0) x.mul_(1 - norm_post);
  }

  double alpha;
  double beta;
  double epsilon;
  double norm;
  double norm_post;
};

struct AdamW {
  static constexpr size_t kGroups = 4;
  explicit AdamW(const Node& node)
      : alpha(node.attr_float("alpha", 0.9F)),
        beta(node.attr_float("beta", 0.999F)),
        epsilon(node.attr_float("epsilon", 1e-8F)),
        decay(node.attr_float("weight_decay", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const double mean_share = step.count > 0 ? 1 - std::pow(alpha, step.count) : 1.0;
    const double square_share = step.count > 0 ? 1 - std::pow(beta, step.count) : 1.0;
    Tensor mean = u.fresh(1);
    Tensor square = u.fresh(2);
    mix(mean, u.old(2), alpha, u.old(1), 1 - alpha);
    mix_squares(square, u.old(3), beta, u.old(1), 1 - beta);
    const Tensor root = at::div(square, square_share).sqrt_().add_(epsilon);
    Tensor x = u.fresh(0);
    at::mul_out(x, u.x(), 1 - step.rate * decay);
    x.addcdiv_(mean, root, -step.rate / mean_share);
  }

  double alpha;
  double beta;
  double epsilon;
  double decay;
};

struct RmsProp {
  static constexpr size_t kGroups = 4;
  explicit RmsProp(const Node& node)
      : alpha(node.attr_float("alpha", 0.95F)),
        epsilon(node.attr_float("epsilon", 0.01F)),
        norm(node.attr_float("norm_coefficient", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const Tensor gradient = u.gradient(norm);
    Tensor mean = u.fresh(1);
    Tensor square = u.fresh(2);
    mix(mean, u.old(2), alpha, gradient, 1 - alpha);
    mix_squares(square, u.old(3), alpha, gradient, 1 - alpha);
    // Rounding may make the difference negative.
    const Tensor variance = at::addcmul(square, mean, mean, -1).clamp_min_(0);
    Tensor x = u.fresh(0);
    at::addcdiv_out(x, u.x(), gradient, variance.sqrt_().add_(epsilon), -step.rate);
  }

  double alpha;
  double epsilon;
  double norm;
};

struct Lars {
  static constexpr size_t kGroups = 3;
  explicit Lars(const Node& node)
      : alpha(node.attr_float("alpha", 0)),
        trust(node.attr_float("trust", 1e-3F)),
        decay(node.attr_float("weight_decay", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const Tensor size = at::norm(u.x());
    const Tensor slope = at::norm(u.old(1));
    // 1 where a norm is zero.
    const Tensor own =
        at::where(size.gt(0).logical_and_(slope.gt(0)),
                  at::div(at::mul(size, trust), at::add(slope, size, decay)), at::ones_like(size));
    const Tensor pull = at::add(u.old(1), u.x(), decay).mul_(own);
    Tensor moved = u.fresh(1);
    mix(moved, u.old(2), alpha, pull, step.rate);
    Tensor x = u.fresh(0);
    at::sub_out(x, u.x(), moved);
  }

  double alpha;
  double trust;
  double decay;
};

struct Lion {
  static constexpr size_t kGroups = 3;
  explicit Lion(const Node& node)
      : alpha(node.attr_float("alpha", 0.9F)),
        beta(node.attr_float("beta", 0.99F)),
        decay(node.attr_float("weight_decay", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const Tensor mean = at::mul(u.old(2), alpha).add_(u.old(1), 1 - alpha);
    mix(u.fresh(1), u.old(2), beta, u.old(1), 1 - beta);
    mix(u.fresh(0), u.x(), 1 - step.rate * decay, mean.sign_(), -step.rate);
  }

  double alpha;
  double beta;
  double decay;
};

struct Lamb {
  static constexpr size_t kGroups = 4;
  explicit Lamb(const Node& node)
      : alpha(node.attr_float("alpha", 0.9F)),
        beta(node.attr_float("beta", 0.999F)),
        epsilon(node.attr_float("epsilon", 1e-6F)),
        decay(node.attr_float("weight_decay", 0)) {}

  void operator()(const Updated& u, const Step& step) const {
    const double mean_share = step.count > 0 ? 1 - std::pow(alpha, step.count) : 1.0;
    const double square_share = step.count > 0 ? 1 - std::pow(beta, step.count) : 1.0;
    Tensor mean = u.fresh(1);
    Tensor square = u.fresh(2);
    mix(mean, u.old(2), alpha, u.old(1), 1 - alpha);
    mix_squares(square, u.old(3), beta, u.old(1), 1 - beta);
    const Tensor root = at::div(square, square_share).sqrt_().add_(epsilon);
    const Tensor move = at::div(mean, root).div_(mean_share).add_(u.x(), decay);
    const Tensor size = at::norm(u.x());
    const Tensor length = at::norm(move);
    // 1 where a norm is zero.
    const Tensor trust = at::where(size.gt(0).logical_and_(length.gt(0)), at::div(size, length),
                                   at::ones_like(size));
    Tensor x = u.fresh(0);
    at::add_out(x, u.x(), at::mul(move, trust), -step.rate);
  }

  double alpha;
  double beta;
  double epsilon;
  double decay;
};

// The share of the new numbers in their averages stands where optimizers have the rate.
struct MovingAverage {
  static constexpr size_t kGroups = 2;
  explicit MovingAverage(const Node&) {}

  void operator()(const Updated& u, const Step& step) const {
    Tensor average = u.fresh(0);
    at::add_out(average, u.old(0), at::sub(u.old(1), u.old(0)), step.rate);
  }
};

// Of all tensors together, in double precision.
Tensor common_norm(const Tensors& tensors) {
  Tensor sum = at::zeros({}, tensors[0].options().dtype(at::kDouble));
  for (const Tensor& tensor : tensors) sum.add_(at::sum(at::square(tensor), at::kDouble));
  return sum.sqrt_();
}

Run make_global_norm(const Node&) {
  return [](const Tensors& in, const Tensors& out) { out[0].copy_(common_norm(in)); };
}

// Over all tensors together, so that the direction of the step stays the same.
Run make_clip_by_norm(const Node& node) {
  const double limit = node.attr_float("max_norm", 0);
  return [limit](const Tensors& in, const Tensors& out) {
    const Tensor norm = common_norm(in);
    const Tensor factor =
        at::where(norm.gt(limit), norm.reciprocal().mul_(limit), at::ones_like(norm))
            .to(in[0].scalar_type());
    for (size_t i = 0; i < in.size(); ++i) {
      Tensor clipped = out[i];
      at::mul_out(clipped, in[i], factor);
    }
    out[in.size()].copy_(norm);
  };
}

constexpr Operator kOptimizers[] = {
    {"Adagrad", refuses_update, make_update<Adagrad>},
    {"Adam", refuses_update, make_update<Adam>},
    {"AdamW", refuses_update, make_update<AdamW>},
    {"ClipByGlobalNorm", refuses_unless_f32, make_clip_by_norm},
    {"GlobalNorm", refuses_unless_f32, make_global_norm},
    {"Lamb", refuses_update, make_update<Lamb>},
    {"Lars", refuses_update, make_update<Lars>},
    {"Lion", refuses_update, make_update<Lion>},
    {"Momentum", refuses_update, make_update<Momentum>},
    {"MovingAverage", refuses_update, make_update<MovingAverage>},
    {"RmsProp", refuses_update, make_update<RmsProp>},
};

}  // namespace

std::span<const Operator> optimizer_operators() {
  return kOptimizers;
}

}  // namespace trainyard::torch_plugin
