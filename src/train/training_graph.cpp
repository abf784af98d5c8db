#include "train/training_graph.h"

#include <algorithm>
#include <numeric>

#include "autodiff/differentiate.h"
#include "autodiff/recompute.h"
#include "autodiff/training_mode.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/builder.h"
#include "ops/op_def.h"
#include "passes/pass.h"
#include "train/loss.h"

namespace trainyard::train {
namespace {

struct Parameter {
  ValueId value;
  bool is_matrix = false;  // a weight of more than one dimension: not a bias, not a scale
};

bool begins_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

// In the order in which the network uses them.
std::vector<Parameter> trainable_parameters(const Graph& graph,
                                            const std::vector<std::string>& frozen) {
  std::vector<Parameter> parameters;
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    const ops::OpDef& op = ops::op_of(node);
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      const ops::ParamRole role = ops::param_role(op, i);
      if (role != ops::ParamRole::kWeight && role != ops::ParamRole::kBias) continue;
      if (!node.has_input(i)) continue;
      const Value& value = node.input_value(i);
      if (value.kind != ValueKind::kInitializer || !is_float(value.type.dtype)) continue;
      const auto is_it = [&](const Parameter& p) { return p.value == node.input(i); };
      if (begins_with_any(value.name, frozen) ||
          std::any_of(parameters.begin(), parameters.end(), is_it)) {
        continue;
      }
      parameters.push_back({node.input(i), value.type.shape.rank() > 1});
    }
  }
  return parameters;
}

// A network that ends in Softmax is trained on what goes into it.
ValueId scores_of(const Graph& graph, ValueId output) {
  const Value& value = graph.value(output);
  if (value.producer.valid() && graph.node(value.producer).op == "Softmax") {
    output = graph.node(value.producer).inputs[0];
  }
  const Value& scores = graph.value(output);
  TY_REQUIRE(scores.type.shape.rank() == 2 && is_float(scores.type.dtype),
             "output '{}' is {}, expected scores of classes: batch x classes", scores.name,
             scores.type.to_string());
  return output;
}

class Maker {
 public:
  Maker(Graph model, const TrainingOptions& options)
      : options_(options), graph_(std::move(model)), builder_(graph_) {}

  TrainingGraph run() {
    parameters_ = trainable_parameters(graph_, options_.frozen);
    TY_REQUIRE(!parameters_.empty(), "the network has no parameters to train{}",
               options_.frozen.empty() ? "" : " that are not frozen");
    std::vector<StateUpdate> statistics = autodiff::to_training_mode(graph_);
    for (const passes::Pass& pass : passes::training_passes()) pass.run(graph_, {});
    synchronise_normalisation();
    add_losses();
    add_gradients();
    add_exchange();
    rate_ = builder_.input(kRateInput, {DType::kF32, {}});
    updates_ = builder_.input(kUpdatesInput, {DType::kI64, {}});
    add_updates();

    TrainingGraph result;
    result.num_parameters = static_cast<int64_t>(parameters_.size());
    result.num_statistics = static_cast<int64_t>(statistics.size());
    result.states = std::move(new_parameters_);
    for (const std::vector<StateUpdate>* more : {&statistics, &optimizer_states_, &accumulated_}) {
      result.states.insert(result.states.end(), more->begin(), more->end());
    }
    result.buckets = std::move(buckets_);
    graph_.set_outputs({loss_, correct_});
    drop_unused(result.states);
    graph_.sort();
    result.graph = std::move(graph_);
    return result;
  }

 private:
  void synchronise_normalisation() {
    if (options_.sync_images == 0) return;
    for (const NodeId id : graph_.node_ids()) {
      trainyard::Node& node = graph_.mutable_node(id);
      if (node.op == "BatchNormTraining") node.attributes["all_images"] = options_.sync_images;
    }
  }

  void add_losses() {
    const std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    TY_REQUIRE(!outputs.empty(), "the network has no outputs");
    const ValueId scores = scores_of(graph_, outputs[0]);
    const int64_t batch = graph_.value(scores).type.shape[0];
    labels_ = builder_.input(kLabelsInput, {DType::kI64, {batch}});
    builder_.set_prefix("loss.");
    loss_ = classification_loss(scores);
    for (size_t i = 1; i < outputs.size(); ++i) {
      const ValueId extra = classification_loss(scores_of(graph_, outputs[i]));
      const ValueId weight = builder_.constant_scalar(
          "auxiliary_weight", static_cast<float>(options_.auxiliary_weight));
      loss_ = builder_.add("Add", {loss_, builder_.add("Mul", {extra, weight})});
    }
    correct_ = add_correct(builder_, scores, labels_);
  }

  ValueId classification_loss(ValueId scores) {
    LossOptions loss;
    loss.label_smoothing = options_.label_smoothing;
    loss.ignore_index = kIgnoredLabel;
    return add_loss(builder_, loss, scores, labels_);
  }

  void add_gradients() {
    std::vector<ValueId> values;
    for (const Parameter& p : parameters_) values.push_back(p.value);
    ValueId loss = loss_;
    if (options_.share != 1) {
      const ValueId share = builder_.constant_scalar("share", static_cast<float>(options_.share));
      loss = builder_.add("Mul", {loss_, share});
    }
    const auto forward_nodes = static_cast<size_t>(graph_.num_nodes());
    gradients_ = autodiff::differentiate(graph_, loss, values);
    if (!options_.recompute.empty()) {
      autodiff::recompute_blocks(graph_, forward_nodes, options_.recompute);
    }
    // What the loss does not depend on stays as it is.
    for (size_t i = parameters_.size(); i-- > 0;) {
      if (gradients_[i].valid()) continue;
      parameters_.erase(parameters_.begin() + static_cast<ptrdiff_t>(i));
      gradients_.erase(gradients_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (options_.accumulate == 1) return;
    builder_.set_prefix(kGradientPrefix);
    const ValueId share =
        builder_.constant_scalar("share", 1.0F / static_cast<float>(options_.accumulate));
    const ValueId continues = builder_.input(kContinuesInput, {DType::kF32, {}});
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const ValueId state = add_state(kAccumulatedPrefix, parameters_[i].value);
      const ValueId before = builder_.add("Mul", {state, continues});
      const ValueId part = builder_.add("Mul", {gradients_[i], share});
      gradients_[i] = builder_.add("Add", {before, part});
      accumulated_.push_back({state, gradients_[i]});
    }
  }

  // Which parameters share a bucket, in the order in which their gradients are made.
  std::vector<std::vector<size_t>> plan_buckets() {
    graph_.sort();
    std::vector<size_t> position(graph_.node_limit(), 0);
    size_t next = 0;
    for (const NodeId id : graph_.node_ids()) position[static_cast<size_t>(id.index)] = next++;
    const auto made = [&](size_t i) {
      return position[static_cast<size_t>(graph_.value(gradients_[i]).producer.index)];
    };
    std::vector<size_t> order(parameters_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return made(a) < made(b); });
    std::vector<std::vector<size_t>> buckets;
    int64_t room = 0;
    for (const size_t i : order) {
      if (room <= 0) {
        room = buckets.empty() ? std::min(kFirstBucketBytes, options_.bucket_bytes)
                               : options_.bucket_bytes;
        buckets.emplace_back();
      }
      buckets.back().push_back(i);
      room -= graph_.value(gradients_[i]).type.num_bytes();
    }
    return buckets;
  }

  // Gradients that are added up over several runs are exchanged with the update.
  void add_exchange() {
    if (options_.bucket_bytes == 0) return;
    int64_t number = 0;
    for (const std::vector<size_t>& bucket : plan_buckets()) {
      std::vector<ValueId> parts;
      std::vector<std::string> names;
      for (const size_t i : bucket) {
        parts.push_back(gradients_[i]);
        names.push_back(graph_.value(parameters_[i].value).name);
      }
      const Attributes attributes = {{"bucket", number++}};
      builder_.set_prefix(options_.accumulate == 1 ? kGradientPrefix : kUpdatePrefix);
      parts = builder_.add_multi("AllReduceStart", std::move(parts), bucket.size(), attributes);
      builder_.set_prefix(kUpdatePrefix);
      parts = builder_.add_multi("AllReduceWait", std::move(parts), bucket.size(), attributes);
      for (size_t i = 0; i < bucket.size(); ++i) gradients_[bucket[i]] = parts[i];
      buckets_.push_back(std::move(names));
    }
  }

  ValueId add_state(std::string_view prefix, ValueId of) {
    const Value& value = graph_.value(of);
    return builder_.parameter(std::string(prefix) + value.name, value.type.shape, init_constant(0),
                              value.type.dtype);
  }

  void add_updates() {
    builder_.set_prefix(kUpdatePrefix);
    if (options_.optimizer.clip_norm > 0) {
      std::vector<ValueId> clipped =
          builder_.add_multi("ClipByGlobalNorm", gradients_, gradients_.size() + 1,
                             {{"max_norm", static_cast<float>(options_.optimizer.clip_norm)}});
      clipped.pop_back();
      gradients_ = std::move(clipped);
    }
    std::vector<size_t> decayed;
    std::vector<size_t> others;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const bool decays = options_.optimizer.decay_all || parameters_[i].is_matrix;
      (decays ? decayed : others).push_back(i);
    }
    new_parameters_.resize(parameters_.size());
    if (!decayed.empty()) add_update(decayed, options_.optimizer.weight_decay);
    if (!others.empty()) add_update(others, 0);
  }

  struct Node {
    std::string op;
    Attributes attributes;
    std::vector<std::string> states;  // prefixes of the names
  };

  Node optimizer_node(double decay) const {
    const OptimizerOptions& o = options_.optimizer;
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
    if (o.kind == "adamw") {
      return {"AdamW",
              {{"alpha", f(o.beta1)},
               {"beta", f(o.beta2)},
               {"epsilon", f(o.epsilon)},
               {"weight_decay", f(decay)}},
              {"optimizer.mean.", "optimizer.square."}};
    }
    if (o.kind == "lars") {
      return {"Lars",
              {{"alpha", f(o.momentum)}, {"trust", f(o.trust)}, {"weight_decay", f(decay)}},
              {"optimizer.momentum."}};
    }
    throw_error("there is no optimizer '{}'; known: {}.{}", o.kind, join(optimizer_names(), ", "),
                did_you_mean(o.kind, optimizer_names()));
  }

  void add_update(const std::vector<size_t>& which, double decay) {
    const Node node = optimizer_node(decay);
    std::vector<ValueId> inputs = {rate_, updates_};
    for (const size_t i : which) inputs.push_back(parameters_[i].value);
    for (const size_t i : which) inputs.push_back(gradients_[i]);
    const size_t first_state = optimizer_states_.size();
    for (const std::string& prefix : node.states) {
      for (const size_t i : which) {
        const ValueId state = add_state(prefix, parameters_[i].value);
        inputs.push_back(state);
        optimizer_states_.push_back({state, kNoValue});
      }
    }
    const size_t outputs = which.size() * (1 + node.states.size());
    const std::vector<ValueId> made =
        builder_.add_multi(node.op, std::move(inputs), outputs, node.attributes);
    for (size_t i = 0; i < which.size(); ++i) {
      new_parameters_[which[i]] = {parameters_[which[i]].value, made[i]};
    }
    for (size_t i = which.size(); i < outputs; ++i) {
      optimizer_states_[first_state + i - which.size()].to = made[i];
    }
  }

  // Nodes nobody needs, such as a final Softmax.
  void drop_unused(const std::vector<StateUpdate>& states) {
    const std::vector<NodeId> ids = graph_.node_ids();
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      const auto is_used = [&](ValueId value) {
        return value.valid() &&
               (!graph_.value(value).consumers.empty() || graph_.is_output(value) ||
                std::any_of(states.begin(), states.end(),
                            [&](const StateUpdate& state) { return state.to == value; }));
      };
      const std::vector<ValueId>& outputs = graph_.node(*id).outputs;
      if (std::none_of(outputs.begin(), outputs.end(), is_used)) graph_.erase_node(*id);
    }
  }

  static constexpr int64_t kIgnoredLabel = -1;

  const TrainingOptions& options_;
  Graph graph_;
  ops::Builder builder_;
  std::vector<Parameter> parameters_;
  std::vector<ValueId> gradients_;  // one per parameter
  ValueId labels_, loss_, correct_, rate_, updates_;
  std::vector<StateUpdate> new_parameters_, optimizer_states_, accumulated_;
  std::vector<std::vector<std::string>> buckets_;
};

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames = {"sgd", "adam", "adamw", "lars"};
  return kNames;
}

TrainingGraph make_training_graph(Graph model, const TrainingOptions& options) {
  TY_REQUIRE(options.accumulate >= 1, "gradients of {} runs cannot be added up",
             options.accumulate);
  return Maker(std::move(model), options).run();
}

}  // namespace trainyard::train
