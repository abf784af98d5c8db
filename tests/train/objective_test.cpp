// Objectives by name and of one's own, and what a step gives of them.
#include "train/objective.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "models/zoo/model.h"
#include "train/predictor.h"
#include "train/task.h"
#include "train/training_step.h"

namespace trainyard::train {
namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 3;

Graph two_headed_network() {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {kRows, 6}});
  std::vector<ValueId> outputs;
  for (const char* name : {"main", "side"}) {
    const ValueId w = b.parameter(fmt::format("{}.w", name), {kColumns, 6}, init_he_normal(6));
    outputs.push_back(b.add("Gemm", {x, w}, {{"transB", int64_t{1}}}, name));
  }
  graph.set_outputs(std::move(outputs));
  return graph;
}

// Scores of two places among five, for each row.
Graph network_of_spans() {
  Graph graph;
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {kRows, 6}});
  const ValueId w = b.parameter("w", {10, 6}, init_he_normal(6));
  const ValueId scores = b.add("Gemm", {x, w}, {{"transB", int64_t{1}}});
  const std::vector<int64_t> shape = {kRows, 5, 2};
  graph.set_outputs({b.add("Reshape", {scores, b.constant_ints("shape", shape)})});
  return graph;
}

StepOptions options_with(Objective objective) {
  StepOptions options{.threads = 1, .seed = 3};
  options.training.objective = std::move(objective);
  return options;
}

// Class i % 3 for row i.
void fill_targets(TrainingStep& step) {
  for (const std::string& name : step.objective_inputs()) {
    Tensor& tensor = step.input(name);
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t label = row % kColumns;
      if (name == kLabelsInput) {
        tensor.values<int64_t>()[static_cast<size_t>(row)] = label;
      } else {
        tensor.values<float>()[static_cast<size_t>(row * kColumns + label)] = 1;
      }
    }
  }
}

TEST(Objective, EveryOneOfTheListTrains) {
  for (const ObjectiveDef* def : objective_list()) {
    const bool spans = def->name == kSpan;
    TrainingStep step(spans ? network_of_spans() : two_headed_network(),
                      options_with(def->make({})));
    runtime::fill_random(step.input(0), 7);
    fill_targets(step);
    step.run(0.05);
    const double first = step.loss();
    for (int i = 0; i < 30; ++i) step.run(0.05);
    EXPECT_LT(step.loss(), first) << def->name;
    // Models of texts report nothing but the loss on the way.
    EXPECT_EQ(step.metrics().empty(), spans || models_tokens(def->name)) << def->name;
  }
}

TEST(Objective, HardTargetsAreSoftOnes) {
  std::vector<double> losses;
  for (const char* name : {"cross-entropy", "soft-cross-entropy"}) {
    const ObjectiveOptions smooth{.label_smoothing = 0.1};
    TrainingStep step(two_headed_network(), options_with(make_objective(name, smooth)));
    runtime::fill_random(step.input(0), 7);
    fill_targets(step);
    for (int i = 0; i < 5; ++i) step.run(0.05);
    losses.push_back(step.loss());
    EXPECT_LE(step.metric(kCorrectMetric), static_cast<double>(kRows));
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-5);
}

// The squared distance of one chosen output per row from a target, as Q-learning has it: inputs,
// several metrics and one number per row, from outside of train.
ObjectiveNodes chosen_output(ops::Builder& b, std::span<const ValueId> outputs) {
  const ValueId chosen = b.input("chosen", {DType::kF32, {kRows, kColumns}});
  const ValueId wanted = b.input("wanted", {DType::kF32, {kRows}});
  const ValueId value =
      b.add("ReduceSum",
            {b.add("Mul", {outputs[0], chosen}), b.constant_ints("axis", std::vector<int64_t>{1})},
            {{"keepdims", int64_t{0}}});
  const ValueId error = b.add("Sub", {value, wanted});
  const ValueId loss =
      b.add("ReduceMean", {b.add("Mul", {error, error})}, {{"keepdims", int64_t{0}}});
  const ValueId mean = b.add("ReduceMean", {value}, {{"keepdims", int64_t{0}}});
  return {{{"chosen", chosen}, {"wanted", wanted}},
          loss,
          {{.name = "error", .value = error, .kind = MetricKind::kEach},
           {.name = "mean_value", .value = mean}}};
}

TEST(Objective, OfOnesOwn) {
  TrainingStep step(two_headed_network(), options_with(chosen_output));
  EXPECT_EQ(step.objective_inputs(), (std::vector<std::string>{"chosen", "wanted"}));
  runtime::fill_random(step.input(0), 7);
  for (size_t row = 0; row < kRows; ++row) {
    step.input("chosen").values<float>()[row * kColumns + row % kColumns] = 1;
    step.input("wanted").values<float>()[row] = static_cast<float>(row);
  }
  for (int i = 0; i < 500; ++i) step.run(0.05);
  double squares = 0;
  for (const float error : step.metric_tensor("error").values<float>()) {
    squares += static_cast<double>(error * error);
  }
  EXPECT_NEAR(step.loss(), squares / kRows, 1e-6);
  EXPECT_NEAR(step.loss(), 0, 1e-3);
  EXPECT_NEAR(step.metric("mean_value"), 1.5, 0.05);
  EXPECT_THROW(step.metric("error"), Error);
  EXPECT_THROW(step.metric("nothing"), Error);
  EXPECT_THROW(step.input("labels"), Error);
}

TEST(Objective, UnknownNameGetsTheNearest) {
  try {
    make_objective("huberr");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean huber"), std::string::npos);
  }
}

// What a step without update gives, applied by hand, is what one with update does.
TEST(TrainingStep, GradientsLeaveAStepWithoutUpdate) {
  StepOptions options = options_with(make_objective("cross-entropy"));
  options.training.optimizer.momentum = 0;
  TrainingStep whole(two_headed_network(), options);
  options.update = false;
  TrainingStep parts(two_headed_network(), options);
  for (TrainingStep* step : {&whole, &parts}) {
    runtime::fill_random(step->input(0), 7);
    step->run(0.5);
  }
  ASSERT_EQ(parts.num_parameters(), whole.num_parameters());
  for (size_t p = 0; p < parts.num_parameters(); ++p) {
    const Tensor updated = whole.state(p);
    const Tensor before = parts.state(p);
    for (size_t i = 0; i < updated.values<float>().size(); ++i) {
      EXPECT_NEAR(updated.values<float>()[i],
                  before.values<float>()[i] - 0.5F * parts.gradient(p).values<float>()[i], 1e-6);
    }
  }
}

TEST(TrainingStep, GradientsWithoutUpdateAreAddedUp) {
  StepOptions options = options_with(make_objective("cross-entropy"));
  options.update = false;
  TrainingStep once(two_headed_network(), options);
  options.training.accumulate = 2;
  TrainingStep twice(two_headed_network(), options);
  for (TrainingStep* step : {&once, &twice}) runtime::fill_random(step->input(0), 7);
  once.run(0);
  for (int i = 0; i < 4; ++i) twice.run(0);
  EXPECT_EQ(twice.updates(), 2);
  for (size_t i = 0; i < once.gradient(0).values<float>().size(); ++i) {
    EXPECT_NEAR(once.gradient(0).values<float>()[i], twice.gradient(0).values<float>()[i], 1e-6);
  }
}

// Another batch, weights that were updated, statistics included: the same as a fresh compilation.
TEST(Predictor, FollowsTheStep) {
  const auto network = [](int64_t batch) {
    return models::build_model("resnet20-cifar", {.batch = batch, .classes = 10});
  };
  Graph model = network(2);
  TrainingStep step(model, {.threads = 1, .seed = 3});
  runtime::fill_random(step.input(0), 7);
  Graph single = network(1);
  Predictor predictor(single, step, 1);
  Predictor older(single, step, 1);
  for (int i = 0; i < 3; ++i) step.run(0.01);
  predictor.copy_weights_from(step);
  step.copy_weights_to(single);
  runtime::CompileOptions compile;
  compile.threads = 1;
  runtime::ExecutionContext fresh(runtime::compile(single, compile));
  runtime::fill_random(predictor.input(0), 5);
  runtime::fill_random(fresh.input(0), 5);
  runtime::fill_random(older.input(0), 5);
  predictor.run();
  fresh.run();
  older.run();
  double moved = 0;
  for (size_t i = 0; i < 10; ++i) {
    const float expected = fresh.output(0).values<float>()[i];
    EXPECT_NEAR(predictor.output(0).values<float>()[i], expected, 1e-4);
    moved += std::abs(static_cast<double>(older.output(0).values<float>()[i] - expected));
  }
  EXPECT_GT(moved, 1e-2);
  older.copy_weights_from(predictor);
  older.run();
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(older.output(0).values<float>()[i], predictor.output(0).values<float>()[i]);
  }
}

}  // namespace
}  // namespace trainyard::train
