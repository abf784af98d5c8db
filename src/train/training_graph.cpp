#include "train/training_graph.h"

#include <algorithm>
#include <numeric>

#include "analysis/parameters.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/autodiff/differentiate.h"
#include "ops/autodiff/training_mode.h"
#include "ops/builder.h"
#include "ops/op_def.h"
#include "ops/passes/pass.h"
#include "train/update_nodes.h"

namespace trainyard::train {
namespace {

// Of the names of nodes, for readers.
constexpr const char* kGradientPrefix = "grad.";

bool begins_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

bool is_cast(const Graph& graph, const Value& value) {
  return std::any_of(value.consumers.begin(), value.consumers.end(),
                     [&](NodeId id) { return graph.node(id).op == "Cast"; });
}

// In the order in which the network uses them. Weights that are cast before their use are of a type
// that is stored, not computed with, and stay as they are.
std::vector<ValueId> trainable_parameters(const Graph& graph,
                                          const std::vector<std::string>& frozen) {
  std::vector<ValueId> parameters;
  for (const analysis::Parameter& parameter : analysis::find_parameters(graph)) {
    const Value& value = graph.value(parameter.value);
    if (!parameter.trainable() || begins_with_any(value.name, frozen)) continue;
    if (is_float(value.type.dtype) && !is_cast(graph, value)) parameters.push_back(parameter.value);
  }
  return parameters;
}

class Maker {
 public:
  Maker(Graph model, const TrainingOptions& options)
      : options_(options), graph_(std::move(model)), builder_(graph_) {
    TY_REQUIRE(options.accumulate >= 1, "gradients of {} runs cannot be added up",
               options.accumulate);
  }

  TrainingGraph run() {
    forward_and_backward();
    add_exchange();
    if (options_.scale_loss) unscale();
    const UpdateNodes updates =
        add_update_nodes(builder_, options_.optimizer, parameters_, gradients_);
    inputs_.rate = updates.rate;
    inputs_.updates = updates.updates;
    if (options_.average) add_averages(updates.parameters);
    mark(Phase::kUpdate);
    std::vector<ValueId> norms;
    if (updates.norm.valid()) norms.push_back(updates.norm);
    if (check_.valid()) norms.push_back(check_);
    set_outputs(norms);
    return result(
        {&updates.parameters, &statistics_, &updates.optimizer, &accumulated_, &averages_});
  }

  TrainingGraph run_gradients() {
    TY_REQUIRE(!options_.scale_loss,
               "gradients in f16 are updated where they are made, not by servers");
    forward_and_backward();
    std::vector<StateUpdate> parameters;
    for (const ValueId id : parameters_) parameters.push_back({id, kNoValue});
    set_outputs(gradients_);
    return result({&parameters, &statistics_, &accumulated_});
  }

 private:
  // The order matters: passes before the gradients see nodes in training mode, and normalization is
  // synchronized before differentiation copies its attributes to the backward nodes.
  void forward_and_backward() {
    parameters_ = trainable_parameters(graph_, options_.frozen);
    TY_REQUIRE(!parameters_.empty(), "the network has no parameters to train{}",
               options_.frozen.empty() ? "" : " that are not frozen");
    autodiff::TrainingMode mode =
        options_.keep_statistics
            ? autodiff::to_training_mode_with_fixed_statistics(graph_, parameters_)
            : autodiff::to_training_mode(graph_);
    statistics_ = std::move(mode.statistics);
    inputs_.step = mode.step;
    passes::PassContext context;
    context.on_host = options_.on_host;
    for (const passes::Pass& pass : passes::before_gradients_passes().passes) {
      pass.run(graph_, context);
    }
    synchronize_normalization();
    place_dropout();
    add_objective();
    add_gradients();
  }

  // All nodes that were added since the last mark belong to this phase.
  void mark(Phase phase) { phases_.resize(graph_.node_limit(), static_cast<uint8_t>(phase)); }

  void set_outputs(std::span<const ValueId> more) {
    std::vector<ValueId> outputs = {objective_.loss};
    for (const Metric& metric : objective_.metrics) outputs.push_back(metric.value);
    outputs.insert(outputs.end(), more.begin(), more.end());
    graph_.set_outputs(std::move(outputs));
  }

  // `states` in the order that TrainingGraph promises.
  TrainingGraph result(std::initializer_list<const std::vector<StateUpdate>*> states) {
    TrainingGraph result;
    result.num_parameters = static_cast<int64_t>(parameters_.size());
    result.num_statistics = static_cast<int64_t>(statistics_.size());
    for (const std::vector<StateUpdate>* some : states) {
      result.states.insert(result.states.end(), some->begin(), some->end());
    }
    result.buckets = std::move(buckets_);
    result.gradients = std::move(gradient_names_);
    result.recomputed = recomputed_;
    result.inputs = inputs_;
    result.phases = std::move(phases_);
    result.objective_inputs = objective_.inputs;
    for (const Metric& metric : objective_.metrics) {
      result.metrics.push_back({metric.name, metric.kind, metric.share});
    }
    drop_unused(result.states);
    graph_.sort();
    result.graph = std::move(graph_);
    return result;
  }

  void synchronize_normalization() {
    if (options_.sync_images == 0 || options_.keep_statistics) return;
    for (const NodeId id : graph_.node_ids()) {
      Node& node = graph_.mutable_node(id);
      if (node.op == "BatchNormTraining") node.attributes["all_images"] = options_.sync_images;
    }
  }

  void place_dropout() {
    if (options_.first_image == 0) return;
    const int64_t images = batch_of(graph_);
    for (const NodeId id : graph_.node_ids()) {
      Node& node = graph_.mutable_node(id);
      if (node.op != "DropoutTraining") continue;
      const int64_t elements = graph_.value(node.inputs[0]).type.shape.num_elements();
      node.attributes["first"] = options_.first_image * (elements / images);
    }
  }

  void add_objective() {
    const std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    TY_REQUIRE(!outputs.empty(), "the network has no outputs");
    builder_.set_prefix("loss.");
    objective_ = options_.objective(builder_, outputs);
    const TensorType& loss = builder_.type(objective_.loss);
    TY_CHECK(loss.dtype == DType::kF32 && loss.shape.num_elements() == 1,
             "the objective's loss is {}, expected one f32", loss.to_string());
  }

  void add_gradients() {
    ValueId loss = objective_.loss;
    // Workers with unequal parts of the batch: the sum of their gradients is that of the mean over
    // the whole batch if each loss is weighted by its part.
    if (options_.share != 1) {
      const ValueId share = builder_.constant_scalar("share", static_cast<float>(options_.share));
      loss = builder_.add("Mul", {loss, share});
    }
    if (options_.scale_loss) {
      inputs_.loss_scale = builder_.input("loss_scale", {DType::kF32, {}});
      loss = builder_.add("Mul", {loss, inputs_.loss_scale});
    }
    mark(Phase::kForward);
    const auto forward_nodes = static_cast<size_t>(graph_.num_nodes());
    gradients_ = autodiff::differentiate(graph_, loss, parameters_);
    if (!options_.recompute.empty()) {
      autodiff::recompute_blocks(graph_, forward_nodes, options_.recompute);
    }
    if (options_.recompute_best.most > 0) {
      recomputed_ = autodiff::recompute_best(
          graph_, forward_nodes, options_.recompute_best.least_bytes, options_.recompute_best.most);
    }
    // What the loss does not depend on stays as it is.
    for (size_t i = parameters_.size(); i-- > 0;) {
      if (gradients_[i].valid()) continue;
      parameters_.erase(parameters_.begin() + static_cast<ptrdiff_t>(i));
      gradients_.erase(gradients_.begin() + static_cast<ptrdiff_t>(i));
    }
    for (const ValueId id : gradients_) gradient_names_.push_back(graph_.value(id).name);
    if (options_.accumulate > 1) accumulate();
    mark(Phase::kBackward);
  }

  void accumulate() {
    builder_.set_prefix(kGradientPrefix);
    // The mean over the runs, kept as state: before = 0 in the first run, the sum so far later.
    const ValueId share =
        builder_.constant_scalar("share", 1.0F / static_cast<float>(options_.accumulate));
    inputs_.continues = builder_.input("continues", {DType::kF32, {}});
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const ValueId state = add_state(builder_, kAccumulatedPrefix, parameters_[i]);
      const ValueId before = builder_.add("Mul", {state, inputs_.continues});
      const ValueId part = builder_.add("Mul", {gradients_[i], share});
      gradients_[i] = builder_.add("Add", {before, part});
      accumulated_.push_back({state, gradients_[i]});
    }
  }

  void add_averages(std::span<const StateUpdate> parameters) {
    inputs_.average = builder_.input("average_share", {DType::kF32, {}});
    std::vector<ValueId> kept;
    std::vector<ValueId> now;
    for (const std::span<const StateUpdate> some :
         {parameters, std::span(std::as_const(statistics_))}) {
      for (const StateUpdate& state : some) {
        kept.push_back(add_state(builder_, kAveragePrefix, state.from));
        now.push_back(state.to);
      }
    }
    std::vector<ValueId> operands = {inputs_.average, inputs_.updates};
    operands.insert(operands.end(), kept.begin(), kept.end());
    operands.insert(operands.end(), now.begin(), now.end());
    const std::vector<ValueId> made =
        builder_.add_multi("MovingAverage", std::move(operands), kept.size(), {});
    for (size_t i = 0; i < kept.size(); ++i) averages_.push_back({kept[i], made[i]});
  }

  // Which parameters share a bucket, in the order in which their gradients are made.
  // The first bucket is small, so that the exchange starts early in the backward pass.
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
        names.push_back(graph_.value(parameters_[i]).name);
      }
      // Start lies in the backward phase and Wait in the update, so that the exchange of a bucket
      // runs while the gradients of earlier layers are computed.
      const Attributes attributes = {{"bucket", number++}};
      const bool early = options_.accumulate == 1;
      builder_.set_prefix(early ? kGradientPrefix : kUpdatePrefix);
      parts = builder_.add_multi("AllReduceStart", std::move(parts), bucket.size(), attributes);
      const Phase late = options_.scale_loss ? Phase::kCheck : Phase::kUpdate;
      mark(early ? Phase::kBackward : late);
      builder_.set_prefix(kUpdatePrefix);
      parts = builder_.add_multi("AllReduceWait", std::move(parts), bucket.size(), attributes);
      mark(late);
      for (size_t i = 0; i < bucket.size(); ++i) gradients_[bucket[i]] = parts[i];
      buckets_.push_back(std::move(names));
    }
  }

  // Histograms of gradients are to be of those that the loss itself has.
  void unscale() {
    builder_.set_prefix(kUpdatePrefix);
    const ValueId share = builder_.add("Reciprocal", {inputs_.loss_scale});
    gradient_names_.clear();
    for (ValueId& gradient : gradients_) {
      gradient = builder_.add("Mul", {gradient, share});
      gradient_names_.push_back(graph_.value(gradient).name);
    }
    check_ = builder_.add("GlobalNorm", gradients_);
    mark(Phase::kCheck);
  }

  // Nodes nobody needs, such as a final Softmax.
  // From the end, since a node may lose its last consumer on the way.
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

  const TrainingOptions& options_;
  Graph graph_;
  ops::Builder builder_;
  std::vector<ValueId> parameters_;
  std::vector<ValueId> gradients_;  // one per parameter
  ObjectiveNodes objective_;
  std::vector<StateUpdate> statistics_, accumulated_, averages_;
  ValueId check_ = kNoValue;
  StepInputs inputs_;
  autodiff::Recomputed recomputed_;
  std::vector<uint8_t> phases_;
  std::vector<std::vector<std::string>> buckets_;
  std::vector<std::string> gradient_names_;
};

}  // namespace

TrainingGraph make_training_graph(Graph model, const TrainingOptions& options) {
  return Maker(std::move(model), options).run();
}

TrainingGraph make_gradient_graph(Graph model, const TrainingOptions& options) {
  return Maker(std::move(model), options).run_gradients();
}

}  // namespace trainyard::train
