#include "quant/layer_time.h"

#include <algorithm>
#include <memory>

#include "base/stopwatch.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "ops/builder.h"
#include "quant/rewrite.h"

namespace trainyard::quant {
namespace {

constexpr int64_t kLeastRuns = 5;
constexpr int64_t kMostRuns = 200;

class TimedRun {
 public:
  TimedRun(const Graph& graph, int threads)
      : executable_(std::make_unique<runtime::Executable>(compiled(graph, threads))),
        context_(std::make_unique<runtime::ExecutionContext>(*executable_)),
        profile_(std::make_unique<runtime::Profile>(*executable_)) {
    runtime::fill_inputs(*context_, *executable_, 1);
    context_->run();
  }

  void run() {
    const Stopwatch once;
    context_->run(profile_.get());
    seconds_.push_back(once.seconds());
  }
  runtime::Timing timing() const { return runtime::summarize(seconds_); }
  std::map<std::string, double> layer_s() const {
    std::map<std::string, double> layers;
    const std::vector<double> steps = profile_->step_seconds();
    for (size_t i = 0; i < steps.size(); ++i) layers[executable_->steps()[i].node] += steps[i];
    return layers;
  }

 private:
  static runtime::Executable compiled(const Graph& graph, int threads) {
    runtime::CompileOptions options;
    options.threads = threads;
    return runtime::compile(graph, options);
  }
  std::unique_ptr<runtime::Executable> executable_;
  std::unique_ptr<runtime::ExecutionContext> context_;
  std::unique_ptr<runtime::Profile> profile_;
  std::vector<double> seconds_;
};

// A processor is slower for a while when a neighbor uses the other hyperthread of its core, or
// other programs run: in turns that is the same for all.
void run_in_turns(std::vector<TimedRun>& runs, double seconds) {
  const Stopwatch all;
  for (int64_t turn = 0; turn < kLeastRuns || (turn < kMostRuns && all.seconds() < seconds);
       ++turn) {
    for (TimedRun& run : runs) run.run();
  }
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

std::vector<NetworkTime> time_networks(std::span<const Graph> graphs, int threads, double seconds) {
  std::vector<TimedRun> runs;
  for (const Graph& graph : graphs) runs.emplace_back(graph, threads);
  run_in_turns(runs, seconds);
  std::vector<NetworkTime> times;
  for (const TimedRun& run : runs) times.push_back({run.timing().median_s, run.layer_s()});
  return times;
}

std::map<NodeId, LayerTime> time_layers(const Graph& graph, const Plan& plan,
                                        const WeightScheme& scheme, int threads, double seconds) {
  constexpr Form kForms[] = {Form::kFloat, Form::kInt8, Form::kBetween};
  std::map<std::string, LayerTime> known;
  std::map<NodeId, LayerTime> times;
  for (const NodeId id : plan.layers) {
    const NodeView layer(graph, id);
    const auto [at, fresh] = known.try_emplace(signature(layer));
    if (fresh) {
      std::vector<TimedRun> runs;
      for (const Form form : kForms) runs.emplace_back(lone_layer(layer, form, scheme), threads);
      run_in_turns(runs, seconds);
      const auto shortest = [&](size_t form) { return runs[form].timing().min_s; };
      at->second = {shortest(0), shortest(1), shortest(2)};
    }
    times[id] = at->second;
  }
  return times;
}

}  // namespace trainyard::quant
