// Momentum, Adagrad, Adam, AdamW, RmsProp, Lars, Lion, Lamb: one step of each; MovingAverage,
// ClipByGlobalNorm and GlobalNorm.
#include <algorithm>
#include <cmath>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Behind the learning rate and the update count.
constexpr size_t kFirstTensor = 2;

// The operands of one element: groups of inputs and outputs follow each other tensor by tensor.
class Element {
 public:
  Element(const KernelArgs& args, size_t tensors, size_t tensor, int64_t i)
      : args_(args), tensors_(tensors), tensor_(tensor), i_(i) {}

  double input(size_t group) const {
    return float_at(args_.inputs[kFirstTensor + group * tensors_ + tensor_], i_);
  }
  void set_output(size_t group, double value) const {
    store_float(args_.outputs[group * tensors_ + tensor_], i_, value);
  }

 private:
  const KernelArgs& args_;
  size_t tensors_;
  size_t tensor_;
  int64_t i_;
};

// Calls update(element) for all elements of all tensors.
template <typename F>
void for_each_element(const KernelArgs& args, size_t groups, F&& update) {
  const size_t tensors = (args.inputs.size() - kFirstTensor) / groups;
  for (size_t t = 0; t < tensors; ++t) {
    const int64_t count = args.inputs[kFirstTensor + t].num_elements();
    for (int64_t i = 0; i < count; ++i) update(Element(args, tensors, t, i));
  }
}

double learning_rate(const KernelArgs& args) {
  return float_at(args.inputs[0], 0);
}

int64_t update_count(const KernelArgs& args) {
  return *args.inputs[1].as<int64_t>();
}

// ONNX Momentum: V' = alpha V + beta (G + norm X); X' = X - R V', or with Nesterov X - R (G + alpha
// V'). beta is 1 while the count is 0.
class Momentum final : public Kernel {
 public:
  explicit Momentum(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0)),
        beta_(node.attr_float("beta", 0)),
        norm_(node.attr_float("norm_coefficient", 0)),
        nesterov_(node.attr_text("mode", "") == "nesterov") {}

  void run(const KernelArgs& args) const override {
    const double rate = learning_rate(args);
    const double beta = update_count(args) > 0 ? beta_ : 1.0;
    for_each_element(args, 3, [&](const Element& e) {
      const double x = e.input(0);
      const double gradient = norm_ * x + e.input(1);
      const double momentum = alpha_ * e.input(2) + beta * gradient;
      e.set_output(0, x - rate * (nesterov_ ? gradient + alpha_ * momentum : momentum));
      e.set_output(1, momentum);
    });
  }

 private:
  double alpha_;
  double beta_;
  double norm_;
  bool nesterov_;
};

// ONNX Adagrad: the rate falls as R / (1 + T decay).
class Adagrad final : public Kernel {
 public:
  explicit Adagrad(const NodeView& node)
      : decay_(node.attr_float("decay_factor", 0)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        norm_(node.attr_float("norm_coefficient", 0)) {}

  void run(const KernelArgs& args) const override {
    const double rate =
        learning_rate(args) / (1 + static_cast<double>(update_count(args)) * decay_);
    for_each_element(args, 3, [&](const Element& e) {
      const double x = e.input(0);
      const double gradient = norm_ * x + e.input(1);
      const double squares = e.input(2) + gradient * gradient;
      e.set_output(0, x - rate * gradient / (std::sqrt(squares) + epsilon_));
      e.set_output(1, squares);
    });
  }

 private:
  double decay_;
  double epsilon_;
  double norm_;
};

// ONNX Adam: bias correction is in the rate, so epsilon is added to the uncorrected root, unlike in
// AdamW.
class Adam final : public Kernel {
 public:
  explicit Adam(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        norm_(node.attr_float("norm_coefficient", 0)),
        norm_post_(node.attr_float("norm_coefficient_post", 0)) {}

  void run(const KernelArgs& args) const override {
    const auto count = static_cast<double>(update_count(args));
    double rate = learning_rate(args);
    if (count > 0) rate *= std::sqrt(1 - std::pow(beta_, count)) / (1 - std::pow(alpha_, count));
    for_each_element(args, 4, [&](const Element& e) {
      const double x = e.input(0);
      const double gradient = norm_ * x + e.input(1);
      const double mean = alpha_ * e.input(2) + (1 - alpha_) * gradient;
      const double square = beta_ * e.input(3) + (1 - beta_) * gradient * gradient;
      // norm_coefficient_post shrinks the result, whatever the rate.
      e.set_output(0, (1 - norm_post_) * (x - rate * mean / (std::sqrt(square) + epsilon_)));
      e.set_output(1, mean);
      e.set_output(2, square);
    });
  }

 private:
  double alpha_;
  double beta_;
  double epsilon_;
  double norm_;
  double norm_post_;
};

// Loshchilov and Hutter, 2019: decay is apart from the gradient and scaled by the rate; both means
// are corrected for their start at zero.
class AdamW final : public Kernel {
 public:
  explicit AdamW(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-8F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  void run(const KernelArgs& args) const override {
    const auto count = static_cast<double>(update_count(args));
    const double rate = learning_rate(args);
    const double mean_share = count > 0 ? 1 - std::pow(alpha_, count) : 1.0;
    const double square_share = count > 0 ? 1 - std::pow(beta_, count) : 1.0;
    for_each_element(args, 4, [&](const Element& e) {
      const double gradient = e.input(1);
      const double mean = alpha_ * e.input(2) + (1 - alpha_) * gradient;
      const double square = beta_ * e.input(3) + (1 - beta_) * gradient * gradient;
      const double move = mean / mean_share / (std::sqrt(square / square_share) + epsilon_);
      e.set_output(0, (1 - rate * decay_) * e.input(0) - rate * move);
      e.set_output(1, mean);
      e.set_output(2, square);
    });
  }

 private:
  double alpha_;
  double beta_;
  double epsilon_;
  double decay_;
};

// Centered RMSProp as in Graves 2013, without its momentum.
class RmsProp final : public Kernel {
 public:
  explicit RmsProp(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.95F)),
        epsilon_(node.attr_float("epsilon", 0.01F)),
        norm_(node.attr_float("norm_coefficient", 0)) {}

  void run(const KernelArgs& args) const override {
    const double rate = learning_rate(args);
    for_each_element(args, 4, [&](const Element& e) {
      const double gradient = norm_ * e.input(0) + e.input(1);
      const double mean = alpha_ * e.input(2) + (1 - alpha_) * gradient;
      const double square = alpha_ * e.input(3) + (1 - alpha_) * gradient * gradient;
      // Rounding may make the difference negative.
      const double variance = std::max(0.0, square - mean * mean);
      e.set_output(0, e.input(0) - rate * gradient / (std::sqrt(variance) + epsilon_));
      e.set_output(1, mean);
      e.set_output(2, square);
    });
  }

 private:
  double alpha_;
  double epsilon_;
  double norm_;
};

double sum_of_squares(const TensorView& tensor) {
  double sum = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    sum += float_at(tensor, i) * float_at(tensor, i);
  }
  return sum;
}

// You, Gitman and Ginsburg 2017: each tensor has a rate of its own, trust |x| / (|g| + decay |x|),
// and momentum contains the rate.
class Lars final : public Kernel {
 public:
  explicit Lars(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0)),
        trust_(node.attr_float("trust", 1e-3F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  void run(const KernelArgs& args) const override {
    const size_t tensors = (args.inputs.size() - kFirstTensor) / 3;
    for (size_t t = 0; t < tensors; ++t) {
      const TensorView& x = args.inputs[kFirstTensor + t];
      const double rate =
          learning_rate(args) * own_rate(x, args.inputs[kFirstTensor + tensors + t]);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const Element e(args, tensors, t, i);
        const double momentum = alpha_ * e.input(2) + rate * (e.input(1) + decay_ * e.input(0));
        e.set_output(0, e.input(0) - momentum);
        e.set_output(1, momentum);
      }
    }
  }

 private:
  // 1 where a norm is zero.
  double own_rate(const TensorView& x, const TensorView& gradient) const {
    const double size = std::sqrt(sum_of_squares(x));
    const double slope = std::sqrt(sum_of_squares(gradient));
    return size > 0 && slope > 0 ? trust_ * size / (slope + decay_ * size) : 1.0;
  }

  double alpha_;
  double trust_;
  double decay_;
};

// Chen et al. 2023: only the sign of the mean moves the tensor, so every element moves by the rate.
class Lion final : public Kernel {
 public:
  explicit Lion(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.99F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  void run(const KernelArgs& args) const override {
    const double rate = learning_rate(args);
    for_each_element(args, 3, [&](const Element& e) {
      const double mean = alpha_ * e.input(2) + (1 - alpha_) * e.input(1);
      const double sign = mean > 0 ? 1 : mean < 0 ? -1 : 0;
      e.set_output(1, beta_ * e.input(2) + (1 - beta_) * e.input(1));
      e.set_output(0, (1 - rate * decay_) * e.input(0) - rate * sign);
    });
  }

 private:
  double alpha_;
  double beta_;
  double decay_;
};

// You et al. 2020.
class Lamb final : public Kernel {
 public:
  explicit Lamb(const NodeView& node)
      : alpha_(node.attr_float("alpha", 0.9F)),
        beta_(node.attr_float("beta", 0.999F)),
        epsilon_(node.attr_float("epsilon", 1e-6F)),
        decay_(node.attr_float("weight_decay", 0)) {}

  void run(const KernelArgs& args) const override {
    const auto count = static_cast<double>(update_count(args));
    const double mean_share = count > 0 ? 1 - std::pow(alpha_, count) : 1.0;
    const double square_share = count > 0 ? 1 - std::pow(beta_, count) : 1.0;
    const size_t tensors = (args.inputs.size() - kFirstTensor) / 4;
    for (size_t t = 0; t < tensors; ++t) {
      const TensorView& x = args.inputs[kFirstTensor + t];
      std::vector<double> moves;
      double squares = 0;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const Element e(args, tensors, t, i);
        const double gradient = e.input(1);
        const double mean = alpha_ * e.input(2) + (1 - alpha_) * gradient;
        const double square = beta_ * e.input(3) + (1 - beta_) * gradient * gradient;
        moves.push_back(mean / mean_share / (std::sqrt(square / square_share) + epsilon_) +
                        decay_ * e.input(0));
        squares += moves.back() * moves.back();
        e.set_output(1, mean);
        e.set_output(2, square);
      }
      const double size = std::sqrt(sum_of_squares(x));
      // 1 where a norm is zero.
      const double trust = size > 0 && squares > 0 ? size / std::sqrt(squares) : 1.0;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const Element e(args, tensors, t, i);
        const double move = moves[static_cast<size_t>(i)];
        e.set_output(0, e.input(0) - learning_rate(args) * trust * move);
      }
    }
  }

 private:
  double alpha_;
  double beta_;
  double epsilon_;
  double decay_;
};

class MovingAverage final : public Kernel {
 public:
  explicit MovingAverage(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    const double share = learning_rate(args);
    for_each_element(args, 2, [&](const Element& e) {
      e.set_output(0, e.input(0) + share * (e.input(1) - e.input(0)));
    });
  }
};

class GlobalNorm final : public Kernel {
 public:
  explicit GlobalNorm(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    double sum = 0;
    for (const TensorView& tensor : args.inputs) sum += sum_of_squares(tensor);
    store_float(args.outputs[0], 0, std::sqrt(sum));
  }
};

// Over all tensors together, so that the direction of the step stays the same.
class ClipByGlobalNorm final : public Kernel {
 public:
  explicit ClipByGlobalNorm(const NodeView& node) : limit_(node.attr_float("max_norm", 0)) {}

  void run(const KernelArgs& args) const override {
    double sum = 0;
    for (const TensorView& tensor : args.inputs) sum += sum_of_squares(tensor);
    const double norm = std::sqrt(sum);
    const double factor = norm > limit_ ? limit_ / norm : 1.0;
    for (size_t t = 0; t < args.inputs.size(); ++t) {
      for (int64_t i = 0; i < args.inputs[t].num_elements(); ++i) {
        store_float(args.outputs[t], i, factor * float_at(args.inputs[t], i));
      }
    }
    store_float(args.outputs[args.inputs.size()], 0, norm);
  }

 private:
  double limit_;
};

}  // namespace

extern const KernelDef kMomentum = reference_kernel<Momentum>("Momentum");
extern const KernelDef kAdagrad = reference_kernel<Adagrad>("Adagrad");
extern const KernelDef kAdam = reference_kernel<Adam>("Adam");

extern const KernelDef kAdamW = reference_kernel<AdamW>("AdamW");
extern const KernelDef kRmsProp = reference_kernel<RmsProp>("RmsProp");
extern const KernelDef kLars = reference_kernel<Lars>("Lars");
extern const KernelDef kLion = reference_kernel<Lion>("Lion");
extern const KernelDef kLamb = reference_kernel<Lamb>("Lamb");
extern const KernelDef kMovingAverage = reference_kernel<MovingAverage>("MovingAverage");
extern const KernelDef kGlobalNorm = reference_kernel<GlobalNorm>("GlobalNorm");
extern const KernelDef kClipByGlobalNorm = reference_kernel<ClipByGlobalNorm>("ClipByGlobalNorm");

}  // namespace trainyard::kernels::reference
