#include "train/loss_evaluator.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "engine/compiler.h"

namespace trainyard::train {
namespace {

// An output as the objective is to see it: the type of what the network gives, and the node that
// training would see behind it.
struct JudgedOutput {
  std::string name;
  TensorType type;
  std::string activation;  // an operator, or empty
  Attributes attributes = {};
};

JudgedOutput strip_activation(Graph& model, ValueId& output) {
  JudgedOutput judged{.name = model.value(output).name, .type = {}, .activation = {}};
  const NodeId producer = model.value(output).producer;
  if (producer.valid()) {
    const Node& node = model.node(producer);
    if (node.op == "Softmax" || node.op == "Sigmoid") {
      judged.activation = node.op;
      judged.attributes = node.attributes;
      output = node.inputs[0];
    }
  }
  judged.type = model.value(output).type;
  return judged;
}

// The objective alone, over the outputs of so many samples.
class ObjectiveRun {
 public:
  ObjectiveRun(const Objective& objective, std::span<const JudgedOutput> outputs, int64_t samples)
      : num_outputs_(outputs.size()), context_(compile_objective(objective, outputs, samples)) {}

  void run(std::span<const Tensor* const> outputs, const data::Batch& batch, const Feed& feed) {
    for (size_t i = 0; i < num_outputs_; ++i) {
      Tensor& input = context_.input(i);
      std::memcpy(input.data(), outputs[i]->data(), static_cast<size_t>(input.num_bytes()));
    }
    std::vector<ObjectiveInput> inputs;
    for (size_t i = 0; i < names_.size(); ++i) {
      inputs.push_back({names_[i], &context_.input(num_outputs_ + i)});
    }
    feed(batch, inputs);
    context_.run();
  }

  const std::vector<std::string>& means() const { return means_; }
  // 0: the loss; then the means.
  double value(size_t index) const {
    return static_cast<double>(context_.output(index).values<float>()[0]);
  }

 private:
  runtime::Executable compile_objective(const Objective& objective,
                                        std::span<const JudgedOutput> outputs, int64_t samples) {
    Graph graph;
    ops::Builder builder(graph);
    std::vector<ValueId> given;
    for (const JudgedOutput& output : outputs) {
      const std::span<const int64_t> own = output.type.shape.dims();
      std::vector<int64_t> dims(own.begin(), own.end());
      TY_REQUIRE(!dims.empty(), "output '{}' is one number, expected one or more of each sample",
                 output.name);
      dims[0] = samples;
      given.push_back(builder.input(output.name, {output.type.dtype, Shape(dims)}));
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (outputs[i].activation.empty()) continue;
      given[i] = builder.add(outputs[i].activation, {given[i]}, outputs[i].attributes);
    }
    builder.set_prefix("loss.");
    const ObjectiveNodes made = objective(builder, given);
    std::vector<ValueId> results = {made.loss};
    for (const Metric& metric : made.metrics) {
      if (metric.kind != MetricKind::kMean) continue;
      means_.push_back(metric.name);
      results.push_back(metric.value);
    }
    for (const ObjectivePort& port : made.inputs) names_.push_back(port.name);
    graph.set_outputs(std::move(results));
    runtime::CompileOptions options;
    options.threads = 1;
    return runtime::compile(std::move(graph), options);
  }

  size_t num_outputs_;
  std::vector<std::string> names_;  // of the objective's inputs
  std::vector<std::string> means_;
  runtime::ExecutionContext context_;
};

class LossEvaluator final : public Evaluator {
 public:
  LossEvaluator(std::vector<JudgedOutput> outputs, Objective objective, Feed feed)
      : outputs_(std::move(outputs)), objective_(std::move(objective)), feed_(std::move(feed)) {
    // One sample shows which means there are.
    const ObjectiveRun one(objective_, outputs_, 1);
    means_ = one.means();
    sums_.assign(2 + means_.size(), 0);
  }

  // A mean over a short batch is that of its samples, so there is a run for each size: in an epoch
  // that of the batch and that of the last.
  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    if (batch.valid == 0) return;
    auto& run = runs_[batch.valid];
    if (run == nullptr) run = std::make_unique<ObjectiveRun>(objective_, outputs_, batch.valid);
    run->run(outputs, batch, feed_);
    const auto samples = static_cast<double>(batch.valid);
    sums_[0] += samples;
    for (size_t i = 1; i < sums_.size(); ++i) sums_[i] += samples * run->value(i - 1);
  }

  Evaluation result() const override {
    const double samples = std::max(1.0, sums_[0]);
    Evaluation result;
    result.images = static_cast<int64_t>(sums_[0]);
    result.scores.push_back({.name = "loss", .value = sums_[1] / samples});
    for (size_t i = 0; i < means_.size(); ++i) {
      result.scores.push_back({.name = means_[i], .value = sums_[2 + i] / samples});
    }
    result.decides = "loss";
    result.higher_is_better = false;
    return result;
  }

  std::vector<double> sums() const override { return sums_; }
  void set_sums(std::span<const double> sums) override { sums_.assign(sums.begin(), sums.end()); }

 private:
  std::vector<JudgedOutput> outputs_;
  Objective objective_;
  Feed feed_;
  std::vector<std::string> means_;
  std::map<int64_t, std::unique_ptr<ObjectiveRun>> runs_;  // by samples
  std::vector<double> sums_;                               // samples, loss, means
};

}  // namespace

std::unique_ptr<Evaluator> make_loss_evaluator(Graph& model, Objective objective, Feed feed) {
  std::vector<ValueId> ids(model.outputs().begin(), model.outputs().end());
  std::vector<JudgedOutput> outputs;
  for (ValueId& id : ids) outputs.push_back(strip_activation(model, id));
  model.set_outputs(std::move(ids));
  return std::make_unique<LossEvaluator>(std::move(outputs), std::move(objective), std::move(feed));
}

}  // namespace trainyard::train
