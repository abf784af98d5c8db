#include "quant/rewrite.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "models/network.h"
#include "models/zoo/model.h"
#include "ops/builder.h"
#include "quant/calibrate.h"
#include "quant/repair.h"
#include "support/error_message.h"

namespace trainyard::quant {
namespace {

int64_t count_nodes(const Graph& graph, std::string_view op) {
  int64_t count = 0;
  for (const NodeId id : graph.node_ids()) count += graph.node(id).op == op ? 1 : 0;
  return count;
}

std::vector<float> run(const Graph& graph) {
  runtime::CompileOptions options;
  options.threads = 1;
  const runtime::Executable executable = runtime::compile(graph, options);
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, 5);
  context.run();
  const std::span<const float> values = context.output(0).values<float>();
  return {values.begin(), values.end()};
}

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(double{a[i]} - b[i]));
  return worst;
}

double spread(const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return double{*high} - *low;
}

// Ranges of the values of a plan when the network sees what run() gives it.
ValueSteps steps_of(const Graph& graph, const Plan& plan, const RangeRule& rule = {}) {
  runtime::CompileOptions options;
  options.threads = 1;
  options.rewrite = false;
  const runtime::Executable executable = runtime::compile(graph, options);
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, 5);
  ObservedValues seen;
  seen.histograms[graph.inputs()[0]].add(context.input(0).values<float>());
  context.set_observer([&](const runtime::StepView& step) {
    const ValueId id = graph.find_value(step.output_name(0));
    const Tensor values = step.output(0);
    if (id.valid() && plan.group.contains(id) && !values.empty()) {
      seen.histograms[id].add(values.values<float>());
    }
  });
  context.run();
  return steps_of_groups(plan, ranges_from(seen, rule), rule);
}

Prepared prepared_model(const std::string& name) {
  network::Request request{.model = name, .batch = 2};
  if (name == "squeezenet1_0") request.image = 48;
  return prepare(network::load(request), 1);
}

TEST(Prepare, FoldsNormalizationIntoStandardOperators) {
  const Graph network = network::load({.model = "resnet20-cifar", .batch = 2});
  const Prepared prepared = prepared_model("resnet20-cifar");
  EXPECT_EQ(count_nodes(prepared.graph, "BatchNormalization"), 0);
  EXPECT_EQ(count_nodes(prepared.graph, "FusedConv"), 0);
  EXPECT_EQ(prepared.normalized.size(), 19U);
  for (const auto& [name, stated] : prepared.normalized) {
    EXPECT_TRUE(prepared.graph.find_value(name).valid()) << name;
  }
}

TEST(MakePlan, RoundsWhatLiesBetweenLayersAndLeavesTheTail) {
  const Prepared prepared = prepared_model("resnet20-cifar");
  const Plan plan = make_plan(prepared.graph, {});
  EXPECT_EQ(plan.layers.size(), plan.int8.size());
  // The scores stay in float.
  EXPECT_FALSE(plan.group.contains(prepared.graph.outputs()[0]));
  EXPECT_TRUE(plan.group.contains(prepared.graph.inputs()[0]));
  // Every sum is rounded after its Relu.
  for (const NodeId id : prepared.graph.node_ids()) {
    if (prepared.graph.node(id).op != "Add") continue;
    EXPECT_TRUE(plan.group.contains(rounded_result(prepared.graph, id)));
    EXPECT_FALSE(plan.group.contains(prepared.graph.node(id).outputs[0]));
  }
  const Plan all = make_plan(prepared.graph, {.round_all_results = true});
  EXPECT_TRUE(all.group.contains(prepared.graph.outputs()[0]));
}

TEST(MakePlan, LayersKeptInFloatNeedNoSteps) {
  const Prepared prepared = prepared_model("resnet20-cifar");
  PlanOptions options;
  for (const NodeId id : make_plan(prepared.graph, {}).layers) {
    options.keep_float[prepared.graph.node(id).name] = "asked for";
  }
  EXPECT_TRUE(make_plan(prepared.graph, options).values.empty());
  const std::string last = std::prev(options.keep_float.end())->first;
  options.keep_float.erase(last);
  const Plan one = make_plan(prepared.graph, options);
  EXPECT_EQ(one.values.size(), 1U);
  EXPECT_EQ(one.values[0], prepared.graph.node(prepared.graph.find_node(last)).inputs[0]);
}

TEST(MakePlan, ConcatenationsAndPoolsShareSteps) {
  const Prepared prepared = prepared_model("squeezenet1_0");
  const Graph& graph = prepared.graph;
  const Plan plan = make_plan(graph, {});
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.op != "Concat" || !plan.group.contains(node.outputs[0])) continue;
    for (const ValueId input : node.inputs) {
      EXPECT_EQ(plan.group.at(input), plan.group.at(node.outputs[0]));
    }
  }
}

TEST(MakePlan, FloatLayersDoNotDrawConcatenationsOutOfSteps) {
  const Graph graph = prepared_model("squeezenet1_0").graph;
  const Plan plan = make_plan(graph, {.keep_float = {{"features.3.expand3x3", "asked for"}}});
  const ValueId joined = graph.node(graph.find_node("features.3.concat")).outputs[0];
  const ValueId kept = rounded_result(graph, graph.find_node("features.3.expand3x3"));
  ASSERT_TRUE(plan.group.contains(joined));
  ASSERT_TRUE(plan.group.contains(kept));
  EXPECT_EQ(plan.group.at(joined), plan.group.at(kept));
  // With both in float there is nothing to keep in steps.
  const Plan none = make_plan(graph, {.keep_float = {{"features.3.expand3x3", "asked for"},
                                                     {"features.3.expand1x1", "asked for"}}});
  EXPECT_FALSE(none.group.contains(kept));
}

TEST(Rewrite, ComputesNearlyTheSame) {
  for (const char* model : {"lenet5", "resnet20-cifar"}) {
    const Prepared prepared = prepared_model(model);
    const Plan plan = make_plan(prepared.graph, {});
    const Graph rounded = rewrite(prepared.graph, plan, steps_of(prepared.graph, plan), {});
    const std::vector<float> exact = run(prepared.graph);
    const double off = worst(exact, run(rounded));
    EXPECT_GT(off, 0) << model;
    EXPECT_LT(off, 0.1 * spread(exact)) << model;
    EXPECT_EQ(count_nodes(rounded, "QuantizeLinear"), static_cast<int64_t>(plan.values.size()));
    // What the steps cannot hold is cut off by them.
    EXPECT_LT(count_nodes(rounded, "Relu"), 2) << model;
  }
}

TEST(Rewrite, OperatorsOnIntegersComputeTheSame) {
  for (const char* model : {"lenet5", "resnet20-cifar", "squeezenet1_0"}) {
    for (const bool symmetric : {false, true}) {
      const Prepared prepared = prepared_model(model);
      const Plan plan = make_plan(prepared.graph, {.round_all_results = true});
      const ValueSteps steps = steps_of(prepared.graph, plan, {.symmetric = symmetric});
      const Graph pairs = rewrite(prepared.graph, plan, steps, {});
      const Graph integers = to_integer_operators(pairs);
      EXPECT_EQ(count_nodes(integers, "QLinearConv"), static_cast<int64_t>(plan.int8.size()));
      EXPECT_EQ(count_nodes(integers, "Conv") + count_nodes(integers, "Gemm"), 0);
      const double step = spread(run(prepared.graph)) / 255;
      EXPECT_LT(worst(run(pairs), run(integers)), 6 * step) << model;
    }
  }
}

TEST(Rewrite, FewerBitsLoseMore) {
  const Prepared prepared = prepared_model("lenet5");
  const Plan plan = make_plan(prepared.graph, {});
  const std::vector<float> exact = run(prepared.graph);
  double before = 0;
  for (const int64_t bits : {8, 6, 4, 2}) {
    const ValueSteps steps = steps_of(prepared.graph, plan, {.bits = bits});
    const Graph rounded =
        rewrite(prepared.graph, plan, steps, {.limit = weight_limit(bits, false)});
    const double off = worst(exact, run(rounded));
    EXPECT_GT(off, before) << bits;
    before = off;
  }
}

TEST(Rewrite, PartsAddUp) {
  const Prepared prepared = prepared_model("lenet5");
  const Plan plan = make_plan(prepared.graph, {});
  const ValueSteps steps = steps_of(prepared.graph, plan);
  const Graph weights = rewrite(prepared.graph, plan, steps, {}, {true, false, false});
  EXPECT_EQ(count_nodes(weights, "QuantizeLinear"), 0);
  EXPECT_EQ(count_nodes(weights, "DequantizeLinear"), static_cast<int64_t>(plan.int8.size()));
  const Graph activations = rewrite(prepared.graph, plan, steps, {}, {false, true, false});
  EXPECT_EQ(count_nodes(activations, "QuantizeLinear"), static_cast<int64_t>(plan.values.size()));
  // Weights have the same steps, but no kernel on integers runs, which would round the bias.
  const Graph both = rewrite(prepared.graph, plan, steps, {}, {true, true, false});
  EXPECT_EQ(count_nodes(both, "DequantizeLinear"), static_cast<int64_t>(plan.values.size()));
}

TEST(Prepare, RefusesWhatIsQuantizedAlready) {
  const Prepared prepared = prepared_model("lenet5");
  const Plan plan = make_plan(prepared.graph, {});
  const Graph rounded = rewrite(prepared.graph, plan, steps_of(prepared.graph, plan), {});
  EXPECT_NE(message_of([&] { prepare(rounded, 1); }).find("quantized already"), std::string::npos);
}

TEST(Equalize, ComputesTheSameWithWeightsOfEqualReach) {
  Prepared prepared = prepared_model("resnet20-cifar");
  const std::vector<float> before = run(prepared.graph);
  const Equalized done = equalize(prepared);
  EXPECT_EQ(done.pairs, 9);
  EXPECT_EQ(done.opened_clips, 0);
  EXPECT_LT(worst(before, run(prepared.graph)), 1e-3 * spread(before));
}

TEST(StepsFromStatistics, CoverNearlyAllThatANormalizedNetworkHas) {
  const Prepared prepared = prepared_model("resnet20-cifar");
  const Plan plan = make_plan(prepared.graph, {});
  const ValueSteps steps = steps_from_statistics(prepared, plan, {});
  EXPECT_EQ(steps.size(), plan.values.size());
  EXPECT_NEAR(steps.at(prepared.graph.inputs()[0]).high(), 3, 0.02);
  const Prepared plain = prepared_model("lenet5");
  const Plan other = make_plan(plain.graph, {});
  EXPECT_NE(message_of([&] { steps_from_statistics(plain, other, {}); }).find("`data`"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::quant
