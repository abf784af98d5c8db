#include "train/update_nodes.h"

#include <map>
#include <utility>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "runs/safetensors.h"
#include "train/matrix_updates.h"

namespace trainyard::train {
namespace {

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
