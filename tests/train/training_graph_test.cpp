// The graph of a training step, run for real.
#include "train/training_graph.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::train {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kBatch = 6;
constexpr int64_t kClasses = 5;

// Convolution, normalization, a residual, pooling, dropout and a linear layer.
Graph small_network(bool dropout) {
  Graph graph;
  ops::Builder b(graph);
  const auto conv = [&](ValueId x, int64_t filters, const char* name) {
    const int64_t channels = b.shape(x)[1];
    const ValueId w = b.parameter(std::string(name) + ".weight", {filters, channels, 3, 3},
                                  init_he_normal(channels * 9));
    return b.add("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}}, name);
  };
  const auto norm = [&](ValueId x, const std::string& name) {
    const int64_t channels = b.shape(x)[1];
    std::vector<ValueId> inputs = {x, b.parameter(name + ".scale", {channels}, init_constant(1))};
    for (const char* part : {".bias", ".mean"}) {
      inputs.push_back(b.parameter(name + part, {channels}, init_constant(0)));
    }
    inputs.push_back(b.parameter(name + ".var", {channels}, init_constant(1)));
    return b.add("BatchNormalization", inputs, {}, name);
  };
  const ValueId x = b.input("x", {DType::kF32, {kBatch, 3, 8, 8}});
  const ValueId first = b.add("Relu", {norm(conv(x, 16, "conv1"), "norm1")});
  const ValueId second =
      b.add("Relu", {b.add("Add", {norm(conv(first, 16, "conv2"), "norm2"), first})});
  const ValueId pooled =
      b.add("MaxPool", {second}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  ValueId flat = b.add("Flatten", {b.add("GlobalAveragePool", {pooled})});
  if (dropout) flat = b.add("Dropout", {flat}, {}, "drop");
  const ValueId w = b.parameter("fc.weight", {kClasses, 16}, init_he_normal(16));
  const ValueId bias = b.parameter("fc.bias", {kClasses}, init_constant(0));
  graph.set_outputs({b.add("Gemm", {flat, w, bias}, {{"transB", int64_t{1}}}, "fc")});
  return graph;
}

class Step {
 public:
  Step(const TrainingGraph& made, bool reference, double rate)
      : executable_(compile(made, reference)), context_(executable_) {
    for (size_t i = 0; i < made.states.size(); ++i) {
      context_.set_state(i, *initializer_data(made.graph.value(made.states[i].from), 1));
    }
    const RandomStream stream(5);
    for (size_t i = 0; i < executable_.inputs().size(); ++i) {
      const std::string& name = executable_.inputs()[i].name;
      Tensor& input = context_.input(i);
      if (name == "x") {
        for (size_t k = 0; k < input.values<float>().size(); ++k) {
          input.values<float>()[k] = static_cast<float>(2 * stream.uniform(k) - 1);
        }
      } else if (name == "labels") {
        for (size_t k = 0; k < static_cast<size_t>(kBatch); ++k) {
          input.values<int64_t>()[k] = static_cast<int64_t>(k) % kClasses;
        }
      } else if (name == "learning_rate") {
        input.values<float>()[0] = static_cast<float>(rate);
      } else {
        input.values<int64_t>()[0] = 1;
      }
    }
  }

  double loss() {
    context_.run();
    return static_cast<double>(context_.output(0).values<float>()[0]);
  }
  Tensor state(size_t i) const { return context_.state(i); }
  const runtime::Executable& executable() const { return executable_; }

 private:
  static runtime::Executable compile(const TrainingGraph& made, bool reference) {
    runtime::CompileOptions options;
    options.threads = 2;
    options.reference_only = reference;
    options.states = made.states;
    return runtime::compile(made.graph, options);
  }

  runtime::Executable executable_;
  runtime::ExecutionContext context_;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    largest = std::max(largest, std::fabs(element_as_double(a, i) - element_as_double(b, i)));
  }
  return largest;
}

TEST(TrainingGraph, LossFallsAndFastKernelsFollowTheReference) {
  // Sums of f32 in another order, carried through three updates.
  constexpr double kTolerance = 1e-4;
  for (const char* optimizer : {"sgd", "adam", "adamw", "lars"}) {
    TrainingOptions options;
    options.objective = make_objective("cross-entropy", {.label_smoothing = 0.05});
    options.optimizer.clip_norm = 2;
    options.optimizer.trust = 0.1;
    options.optimizer.kind = optimizer;
    options.optimizer.weight_decay = 1e-3;
    options.optimizer.decay_all = false;
    const bool is_adam = options.optimizer.kind.starts_with("adam");
    const double rate = is_adam ? 0.01 : 0.1;
    const TrainingGraph made = make_training_graph(small_network(false), options);
    Step fast(made, false, rate);
    Step reference(made, true, rate);
    const double begin = reference.loss();
    EXPECT_NEAR(fast.loss(), begin, kTolerance);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(fast.loss(), reference.loss(), kTolerance) << optimizer;
    for (size_t i = 0; i < made.states.size(); ++i) {
      EXPECT_LE(largest_difference(fast.state(i), reference.state(i)), kTolerance)
          << optimizer << " " << fast.executable().states()[i].name;
    }
    for (int i = 0; i < 10; ++i) fast.loss();
    EXPECT_LT(fast.loss(), 0.7 * begin) << optimizer;
  }
}

TEST(TrainingGraph, WeightsDecayWithEveryOptimizer) {
  for (const std::string& optimizer : optimizer_names()) {
    std::vector<Tensor> weights;
    for (const double decay : {0.0, 0.5}) {
      TrainingOptions options;
      options.optimizer.kind = optimizer;
      options.optimizer.weight_decay = decay;
      const TrainingGraph made = make_training_graph(small_network(false), options);
      Step step(made, false, 0.1);
      step.loss();
      size_t index = 0;
      while (step.executable().states()[index].name != "fc.weight") ++index;
      weights.push_back(step.state(index));
    }
    EXPECT_GT(largest_difference(weights[0], weights[1]), 1e-6) << optimizer;
  }
}

TEST(TrainingGraph, FrozenParametersStayAndCostNothing) {
  TrainingOptions options;
  options.frozen = {"conv", "norm"};
  const TrainingGraph made = make_training_graph(small_network(false), options);
  EXPECT_EQ(made.num_parameters, 2);
  for (const NodeId id : made.graph.node_ids()) {
    EXPECT_NE(made.graph.node(id).op, "ConvGradWeight");
    EXPECT_NE(made.graph.node(id).op, "ConvGradInput");
  }
}

TEST(TrainingGraph, DropoutAsksForTheStep) {
  const TrainingGraph made = make_training_graph(small_network(true), {});
  EXPECT_TRUE(made.graph.find_value("step").valid());
  Step step(made, false, 0.1);
  EXPECT_TRUE(std::isfinite(step.loss()));
}

// Half the gradient twice is the gradient.
TEST(TrainingGraph, AccumulatedGradientsAreTheMean) {
  TrainingOptions options;
  options.accumulate = 2;
  const TrainingGraph made = make_training_graph(small_network(false), options);
  int accumulated = 0;
  for (const StateUpdate& state : made.states) {
    accumulated += made.graph.value(state.from).name.starts_with(kAccumulatedPrefix) ? 1 : 0;
  }
  EXPECT_EQ(accumulated, made.num_parameters);
}

TEST(TrainingGraph, WhatCannotBeTrainedIsRefused) {
  Graph graph;
  ops::Builder b(graph);
  graph.set_outputs({b.add("Relu", {b.input("x", {DType::kF32, {2, 3}})})});
  EXPECT_THROW(make_training_graph(graph, {}), Error);
  TrainingOptions options;
  options.optimizer.kind = "magic";
  EXPECT_THROW(make_training_graph(small_network(false), options), Error);
}

}  // namespace
}  // namespace trainyard::train
