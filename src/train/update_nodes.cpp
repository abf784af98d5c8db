#include "train/update_nodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "ops/builder.h"
#include "runs/safetensors.h"
#include "train/training_graph.h"

namespace trainyard::train {
namespace {

// One parameter and what its update reads.
struct MatrixOperands {
  ValueId parameter;
  ValueId gradient;
  ValueId rate;     // f32[]
  ValueId updates;  // i64[], from 1
};

struct MatrixUpdate {
  ValueId parameter;  // the new one
  struct State {
    std::string prefix;  // of its name
    StateUpdate update;
  };
  std::vector<State> states;
};

// The nodes of one update, all in the parameter's element type.
class MatrixMaker {
 public:
  MatrixMaker(ops::Builder& builder, const MatrixOperands& operands)
      : b_(builder),
        x_(operands.parameter),
        gradient_(operands.gradient),
        rate_(like_parameter(operands.rate)),
        updates_(operands.updates),
        name_(builder.graph().value(operands.parameter).name),
        shape_(builder.shape(operands.parameter)),
        rows_(shape_.rank() == 0 ? 1 : shape_[0]),
        columns_(rows_ == 0 ? 0 : shape_.num_elements() / rows_) {}

  MatrixUpdate muon(double momentum, double decay) {
    const ValueId before = state("optimizer.momentum.", shape_);
    const ValueId mean = between(before, gradient_, scalar(1 - momentum));
    keep("optimizer.momentum.", before, mean);
    const ValueId ahead = between(gradient_, mean, scalar(momentum));
    const double reach = 0.2 * std::sqrt(static_cast<double>(std::max(rows_, columns_)));
    const ValueId move = b_.add("Mul", {as_parameter(orthogonal(as_matrix(ahead))), scalar(reach)});
    return finish(b_.add("Mul", {rate_, move}), decay);
  }

  MatrixUpdate adafactor(double decay) {
    constexpr double kTiny = std::numeric_limits<float>::epsilon();
    constexpr double kLeastSize = 1e-3;  // of the parameter, that the rate is relative to
    const ValueId count = like_parameter(updates_);
    const ValueId share = b_.add("Pow", {count, scalar(-0.8)});
    const ValueId gradient = shape_.rank() > 1 ? as_matrix(gradient_) : gradient_;
    const ValueId square = b_.add("Mul", {gradient, gradient});
    const ValueId moment =
        shape_.rank() > 1 ? factored_moment(square, share, kTiny) : whole_moment(square, share);
    const ValueId root = b_.add("Sqrt", {b_.add("Max", {moment, scalar(kTiny * kTiny)})});
    const ValueId move = b_.add("Div", {gradient, root});
    const ValueId most = b_.add("Reciprocal", {b_.add("Sqrt", {count})});
    const ValueId size = b_.add("Max", {mean_size(x_), scalar(kLeastSize)});
    const ValueId reach = b_.add("Mul", {size, b_.add("Min", {rate_, most})});
    const ValueId calmed = b_.add("Div", {reach, b_.add("Max", {mean_size(move), scalar(1)})});
    return finish(as_parameter(b_.add("Mul", {calmed, move})), decay);
  }

 private:
  // The quintic of Jordan et al.: singular values from 0 to 1 end up between 0.7 and 1.2.
  ValueId orthogonal(ValueId matrix) {
    constexpr float kA = 3.4445F;
    constexpr float kB = -4.7750F;
    constexpr float kC = 2.0315F;
    constexpr int kSteps = 5;
    const bool tall = rows_ > columns_;
    if (tall) matrix = transposed(matrix);
    const ValueId norm = b_.add("Sqrt", {b_.add("ReduceSumSquare", {matrix}, kToScalar)});
    ValueId x = b_.add("Div", {matrix, b_.add("Max", {norm, scalar(1e-7)})});
    for (int i = 0; i < kSteps; ++i) {
      const ValueId a = b_.add("Gemm", {x, x}, {{"transB", int64_t{1}}});
      const ValueId b = b_.add("Gemm", {a, a, a}, {{"alpha", kC}, {"beta", kB}});
      x = b_.add("Gemm", {b, x, x}, {{"beta", kA}});
    }
    return tall ? transposed(x) : x;
  }

  ValueId factored_moment(ValueId square, ValueId share, double tiny) {
    const ValueId row = mean_state("optimizer.row.", square, {rows_, 1}, 1, share);
    const ValueId column = mean_state("optimizer.column.", square, {1, columns_}, 0, share);
    const ValueId mean = b_.add("ReduceMean", {row}, kToScalar);
    const ValueId product = b_.add("Mul", {row, column});
    return b_.add("Div", {product, b_.add("Max", {mean, scalar(tiny)})});
  }

  // A running mean of the means along `axis`.
  ValueId mean_state(const std::string& prefix, ValueId square, Shape shape, int64_t axis,
                     ValueId share) {
    const ValueId before = state(prefix, std::move(shape));
    const ValueId mean = b_.add("ReduceMean", {square}, {{"axes", std::vector<int64_t>{axis}}});
    return keep(prefix, before, between(before, mean, share));
  }

  ValueId whole_moment(ValueId square, ValueId share) {
    const ValueId before = state("optimizer.square.", shape_);
    return keep("optimizer.square.", before, between(before, square, share));
  }

  ValueId state(const std::string& prefix, Shape shape) {
    return b_.parameter(prefix + name_, std::move(shape), init_constant(0), b_.type(x_).dtype);
  }
  ValueId keep(const std::string& prefix, ValueId before, ValueId after) {
    made_.states.push_back({prefix, {before, after}});
    return after;
  }

  MatrixUpdate finish(ValueId move, double decay) {
    ValueId x = x_;
    if (decay > 0) {
      const ValueId lost = b_.add("Mul", {rate_, scalar(decay)});
      x = b_.add("Mul", {x, b_.add("Sub", {scalar(1), lost})});
    }
    made_.parameter = b_.add("Sub", {x, move});
    return std::move(made_);
  }

  // The root of the mean square.
  ValueId mean_size(ValueId x) {
    const ValueId sum = b_.add("ReduceSumSquare", {x}, kToScalar);
    const auto count = static_cast<double>(b_.shape(x).num_elements());
    return b_.add("Sqrt", {b_.add("Mul", {sum, scalar(1 / count)})});
  }

  // a + share * (b - a)
  ValueId between(ValueId a, ValueId b, ValueId share) {
    return b_.add("Add", {a, b_.add("Mul", {share, b_.add("Sub", {b, a})})});
  }
  ValueId as_matrix(ValueId x) {
    if (shape_.rank() == 2) return x;
    const int64_t dims[] = {rows_, columns_};
    return b_.add("Reshape", {x, b_.constant_ints("matrix", dims)});
  }
  ValueId as_parameter(ValueId x) {
    if (b_.shape(x) == shape_) return x;
    return b_.add("Reshape", {x, b_.constant_ints("shape", shape_.dims())});
  }
  ValueId transposed(ValueId x) {
    return b_.add("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  ValueId like_parameter(ValueId x) {
    return b_.type(x).dtype == b_.type(x_).dtype ? x : b_.add("CastLike", {x, x_});
  }
  ValueId scalar(double value) {
    return b_.constant("factor", cast(Tensor::scalar(value), b_.type(x_).dtype));
  }

  inline static const Attributes kToScalar = {{"keepdims", int64_t{0}}};

  ops::Builder& b_;
  ValueId x_;
  ValueId gradient_;
  ValueId rate_;
  ValueId updates_;
  std::string name_;
  Shape shape_;
  int64_t rows_;
  int64_t columns_;
  MatrixUpdate made_;
};

// Which of the parameters Muon is for: matrices that are neither the table of an embedding nor the
// last of the network, which makes its outputs. By index.
std::vector<bool> muon_matrices(const Graph& graph, std::span<const ValueId> parameters) {
  std::vector<bool> chosen;
  for (const ValueId id : parameters) {
    const Value& value = graph.value(id);
    const bool looked_up =
        std::any_of(value.consumers.begin(), value.consumers.end(),
                    [&](NodeId node) { return graph.node(node).op == "Gather"; });
    chosen.push_back(value.type.shape.rank() >= 2 && !looked_up);
  }
  const auto last = std::find(chosen.rbegin(), chosen.rend(), true);
  if (last != chosen.rend()) *last = false;
  return chosen;
}

// Muon (Jordan et al. 2024): Nesterov momentum whose singular values are brought near 1 by five
// Newton-Schulz steps. Times 0.2 * sqrt(the longer side), so that elements move as far as AdamW's
// and one rate suits both (Liu et al. 2025).
MatrixUpdate add_muon(ops::Builder& builder, const OptimizerOptions& options,
                      const MatrixOperands& operands, double decay) {
  return MatrixMaker(builder, operands).muon(options.momentum, decay);
}

// Adafactor (Shazeer and Stern 2018), in the form of PyTorch: the second moment of a matrix is kept
// as the means of its rows and columns, that of a vector whole; the rate is relative to the size of
// the parameter and at most 1 / sqrt(update).
MatrixUpdate add_adafactor(ops::Builder& builder, const MatrixOperands& operands, double decay) {
  return MatrixMaker(builder, operands).adafactor(decay);
}

// What one kind of optimizer is made of. The operators are ONNX's (ai.onnx.preview.training) where
// it has them; their attributes are f32.
struct OptimizerNode {
  std::string op;
  Attributes attributes;
  std::vector<std::string> states;  // prefixes of the names
};

OptimizerNode optimizer_node(const OptimizerOptions& o, double decay) {
  const auto f = [](double v) { return static_cast<float>(v); };
  if (o.kind == "sgd") {
    return {"Momentum",
            {{"alpha", f(o.momentum)},
             {"beta", 1.0F},
             {"mode", std::string(o.nesterov ? "nesterov" : "standard")},
             {"norm_coefficient", f(decay)}},
            {"optimizer.momentum."}};
  }
  if (o.kind == "adam") {
    return {"Adam",
            {{"alpha", f(o.beta1)},
             {"beta", f(o.beta2)},
             {"epsilon", f(o.epsilon)},
             {"norm_coefficient", f(decay)}},
            {"optimizer.mean.", "optimizer.square."}};
  }
  // Muon is for matrices alone; the others are updated by AdamW.
  if (o.kind == "adamw" || o.kind == "muon") {
    return {"AdamW",
            {{"alpha", f(o.beta1)},
             {"beta", f(o.beta2)},
             {"epsilon", f(o.epsilon)},
             {"weight_decay", f(decay)}},
            {"optimizer.mean.", "optimizer.square."}};
  }
  if (o.kind == "rmsprop") {
    return {"RmsProp",
            {{"alpha", f(o.decay)}, {"epsilon", f(o.rms_epsilon)}, {"norm_coefficient", f(decay)}},
            {"optimizer.mean.", "optimizer.square."}};
  }
  if (o.kind == "adagrad") {
    return {"Adagrad",
            {{"epsilon", f(o.epsilon)}, {"norm_coefficient", f(decay)}},
            {"optimizer.square."}};
  }
  if (o.kind == "lars") {
    return {"Lars",
            {{"alpha", f(o.momentum)}, {"trust", f(o.trust)}, {"weight_decay", f(decay)}},
            {"optimizer.momentum."}};
  }
  if (o.kind == "lion") {
    return {"Lion",
            {{"alpha", f(o.beta1)}, {"beta", f(o.lion_beta2)}, {"weight_decay", f(decay)}},
            {"optimizer.momentum."}};
  }
  if (o.kind == "lamb") {
    return {"Lamb",
            {{"alpha", f(o.beta1)},
             {"beta", f(o.beta2)},
             {"epsilon", f(o.lamb_epsilon)},
             {"weight_decay", f(decay)}},
            {"optimizer.mean.", "optimizer.square."}};
  }
  throw_error("there is no optimizer '{}'; known: {}.{}", o.kind, join(optimizer_names(), ", "),
              did_you_mean(o.kind, optimizer_names()));
}

double rate_share(const std::string& name, const std::vector<RateShare>& shares) {
  const RateShare* own = nullptr;
  for (const RateShare& row : shares) {
    const bool longer = own == nullptr || row.prefix.size() > own->prefix.size();
    if (longer && name.starts_with(row.prefix)) own = &row;
  }
  return own == nullptr ? 1 : own->share;
}

class UpdateMaker {
 public:
  UpdateMaker(ops::Builder& builder, const OptimizerOptions& options,
              std::span<const ValueId> parameters, std::vector<ValueId> gradients)
      : builder_(builder),
        options_(options),
        parameters_(parameters),
        gradients_(std::move(gradients)) {}

  UpdateNodes run() {
    made_.rate = builder_.input("learning_rate", {DType::kF32, {}});
    made_.updates = builder_.input("updates", {DType::kI64, {}});
    builder_.set_prefix(kUpdatePrefix);
    clip();
    // Without `decay_all`, biases and the scales of normalization, which are vectors, are spared
    // weight decay. Decay is an attribute and the rate an input of a whole node, so there is a node
    // for each share of the rate with decay and one for each without.
    std::map<std::pair<double, bool>, std::vector<size_t>> groups;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Value& value = builder_.graph().value(parameters_[i]);
      const bool spared = !options_.decay_all && value.type.shape.rank() <= 1;
      groups[{rate_share(value.name, options_.rate_shares), spared}].push_back(i);
    }
    made_.parameters.resize(parameters_.size());
    const std::vector<bool> muon = muon_matrices(builder_.graph(), parameters_);
    for (auto& [group, which] : groups) {
      const auto& [share, spared] = group;
      const ValueId rate = share_of_rate(share);
      const double decay = spared ? 0 : options_.weight_decay;
      std::erase_if(which, [&](size_t i) {
        const bool matrix = options_.kind == "adafactor" || (options_.kind == "muon" && muon[i]);
        if (matrix) add_matrix_update(i, rate, decay);
        return matrix;
      });
      if (!which.empty()) add_update(which, rate, decay);
    }
    return std::move(made_);
  }

 private:
  void clip() {
    if (options_.clip_norm > 0) {
      std::vector<ValueId> clipped =
          builder_.add_multi("ClipByGlobalNorm", gradients_, gradients_.size() + 1,
                             {{"max_norm", static_cast<float>(options_.clip_norm)}});
      // The last output is the norm itself, which no update needs.
      if (options_.report_norm) made_.norm = clipped.back();
      clipped.pop_back();
      gradients_ = std::move(clipped);
    } else if (options_.report_norm) {
      made_.norm = builder_.add("GlobalNorm", gradients_);
    }
    if (options_.clip_value == 0) return;
    const auto limit = static_cast<float>(options_.clip_value);
    const ValueId least = builder_.constant_scalar("least_gradient", -limit);
    const ValueId most = builder_.constant_scalar("most_gradient", limit);
    for (ValueId& gradient : gradients_) gradient = builder_.add("Clip", {gradient, least, most});
  }

  ValueId share_of_rate(double share) {
    if (share == 1) return made_.rate;
    const std::string name = fmt::format("rate_share.{}", share);
    return builder_.add("Mul",
                        {made_.rate, builder_.constant_scalar(name, static_cast<float>(share))});
  }

  void add_matrix_update(size_t i, ValueId rate, double decay) {
    const MatrixOperands operands = {parameters_[i], gradients_[i], rate, made_.updates};
    MatrixUpdate update = options_.kind == "muon" ? add_muon(builder_, options_, operands, decay)
                                                  : add_adafactor(builder_, operands, decay);
    made_.parameters[i] = {parameters_[i], update.parameter};
    for (MatrixUpdate::State& state : update.states) {
      made_.optimizer.push_back(state.update);
      made_.owners.push_back({i, std::move(state.prefix)});
    }
  }

  // Inputs and outputs of an optimizer's node: rate, count, then all parameters, all gradients, and
  // each kind of state of all parameters; results are the parameters, then the states, likewise.
  void add_update(const std::vector<size_t>& which, ValueId rate, double decay) {
    const OptimizerNode node = optimizer_node(options_, decay);
    std::vector<ValueId> inputs = {rate, made_.updates};
    for (const size_t i : which) inputs.push_back(parameters_[i]);
    for (const size_t i : which) inputs.push_back(gradients_[i]);
    const size_t first_state = made_.optimizer.size();
    for (const std::string& prefix : node.states) {
      for (const size_t i : which) {
        const ValueId state = add_state(builder_, prefix, parameters_[i]);
        inputs.push_back(state);
        made_.optimizer.push_back({state, kNoValue});
        made_.owners.push_back({i, prefix});
      }
    }
    const size_t outputs = which.size() * (1 + node.states.size());
    const std::vector<ValueId> results =
        builder_.add_multi(node.op, std::move(inputs), outputs, node.attributes);
    for (size_t i = 0; i < which.size(); ++i) {
      made_.parameters[which[i]] = {parameters_[which[i]], results[i]};
    }
    for (size_t i = which.size(); i < outputs; ++i) {
      made_.optimizer[first_state + i - which.size()].to = results[i];
    }
  }

  ops::Builder& builder_;
  const OptimizerOptions& options_;
  std::span<const ValueId> parameters_;
  std::vector<ValueId> gradients_;
  UpdateNodes made_;
};

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames = {"sgd",  "adam", "adamw", "rmsprop", "adagrad",
                                                  "lars", "lion", "lamb",  "muon",    "adafactor"};
  return kNames;
}

ValueId add_state(ops::Builder& builder, std::string_view prefix, ValueId of) {
  const Value& value = builder.graph().value(of);
  return builder.parameter(std::string(prefix) + value.name, value.type.shape, init_constant(0),
                           value.type.dtype);
}

UpdateNodes add_update_nodes(ops::Builder& builder, const OptimizerOptions& options,
                             std::span<const ValueId> parameters, std::vector<ValueId> gradients) {
  return UpdateMaker(builder, options, parameters, std::move(gradients)).run();
}

TrainingGraph make_update_graph(std::span<const runs::NamedType> parameters,
                                const OptimizerOptions& options, std::vector<StateOwner>* owners) {
  TrainingGraph result;
  ops::Builder builder(result.graph);
  std::vector<ValueId> values;
  std::vector<ValueId> gradients;
  for (const runs::NamedType& p : parameters) {
    values.push_back(builder.parameter(p.name, p.type.shape, init_constant(0), p.type.dtype));
    gradients.push_back(builder.input("gradient." + p.name, p.type));
  }
  UpdateNodes made = add_update_nodes(builder, options, values, std::move(gradients));
  result.inputs.rate = made.rate;
  result.inputs.updates = made.updates;
  result.num_parameters = static_cast<int64_t>(parameters.size());
  result.states = std::move(made.parameters);
  result.states.insert(result.states.end(), made.optimizer.begin(), made.optimizer.end());
  if (owners != nullptr) {
    owners->clear();
    for (size_t i = 0; i < parameters.size(); ++i) owners->push_back({.parameter = i});
    owners->insert(owners->end(), made.owners.begin(), made.owners.end());
  }
  return result;
}

}  // namespace trainyard::train
