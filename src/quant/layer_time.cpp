#include "quant/layer_time.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "ops/builder.h"
#include "quant/rewrite.h"
#include "runtime/bench.h"
#include "runtime/compiler.h"

namespace trainyard::quant {
namespace {

constexpr int64_t kLeastRuns = 5;
constexpr int64_t kMostRuns = 200;

struct Timed {
  runtime::Timing timing;
  std::vector<double> step_s;
  std::vector<std::string> nodes;
};

Timed time_graph(const Graph& graph, int threads, double seconds) {
  runtime::CompileOptions options;
  options.threads = threads;
  const runtime::Executable executable = runtime::compile(graph, options);
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, 1);
  const auto run = [&](runtime::Profile* profile) { context.run(profile); };
  run(nullptr);
  const Stopwatch once;
  run(nullptr);
  const auto fitting = static_cast<int64_t>(seconds / std::max(1e-9, once.seconds()));
  runtime::Profile profile(executable);
  Timed timed;
  timed.timing = runtime::time_runs(run, 0, std::clamp(fitting, kLeastRuns, kMostRuns), &profile);
  timed.step_s = profile.step_seconds();
  for (const runtime::StepInfo& step : executable.steps()) timed.nodes.push_back(step.node);
  return timed;
}

// The layer with everything that decides its time, as text.
std::string signature(const NodeView& layer) {
  std::string text = layer.op() + layer.input_shape(0).to_string() + "/" +
                     layer.input_shape(1).to_string() + (layer.has_input(2) ? "+" : "");
  for (const auto& [name, value] : layer.node().attributes) {
    text += name + "=" + attribute_text(value) + ";";
  }
  return text;
}

enum class Form : uint8_t {
  kFloat,
  kInt8,     // steps (u8) in and out, which is how a layer in the middle of a network sees them
  kBetween,  // steps in and out, the layer in float
};

// Input, layer, Relu, result.
Graph lone_layer(const NodeView& layer, Form form, const WeightScheme& scheme) {
  const bool in_steps = form != Form::kFloat;
  Graph graph(layer.name());
  ops::Builder b(graph);
  const Steps steps{.scale = 1.0F / 64, .zero = 0, .highest = 255};
  const auto scale = [&](const char* name) {
    return b.constant(name, Tensor::scalar(steps.scale));
  };
  const auto zero = [&](const char* name) { return b.constant(name, Tensor::scalar(uint8_t{0})); };
  Shape shape = layer.input_shape(0);
  shape[0] = 1;  // as networks are timed
  ValueId x = b.input("x", {in_steps ? DType::kU8 : DType::kF32, shape});
  if (in_steps) x = b.add("DequantizeLinear", {x, scale("x_scale"), zero("x_zero")});
  std::vector<ValueId> inputs = {x, b.constant("w", layer.input_constant(1)->clone())};
  if (layer.has_input(2)) inputs.push_back(b.constant("b", layer.input_constant(2)->clone()));
  ValueId y = b.add(layer.op(), std::move(inputs), layer.node().attributes, "layer");
  if (form != Form::kInt8) y = b.add("Relu", {y});
  if (in_steps) y = b.add("QuantizeLinear", {y, scale("y_scale"), zero("y_zero")});
  graph.set_outputs({y});
  if (form == Form::kInt8) {
    Plan plan;
    plan.layers = {graph.find_node("layer")};
    plan.int8 = {plan.layers[0]};
    return rewrite(std::move(graph), plan, {{x, steps}}, scheme);
  }
  return graph;
}

}  // namespace

NetworkTime time_network(const Graph& graph, int threads, double seconds) {
  const Timed timed = time_graph(graph, threads, seconds);
  NetworkTime time;
  time.median_s = timed.timing.median_s;
  for (size_t i = 0; i < timed.nodes.size(); ++i) time.layer_s[timed.nodes[i]] += timed.step_s[i];
  return time;
}

std::map<NodeId, LayerTime> time_layers(const Graph& graph, const Plan& plan,
                                        const WeightScheme& scheme, int threads, double seconds) {
  std::map<std::string, LayerTime> known;
  std::map<NodeId, LayerTime> times;
  for (const NodeId id : plan.layers) {
    const NodeView layer(graph, id);
    const auto [at, fresh] = known.try_emplace(signature(layer));
    if (fresh) {
      const auto median = [&](Form form) {
        return time_graph(lone_layer(layer, form, scheme), threads, seconds).timing.median_s;
      };
      at->second = {median(Form::kFloat), median(Form::kInt8), median(Form::kBetween)};
    }
    times[id] = at->second;
  }
  return times;
}

}  // namespace trainyard::quant
