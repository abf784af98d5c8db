#include "quant/quantize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "quant/layer_time.h"
#include "quant/repair.h"

namespace trainyard::quant {
namespace {

// One network on its way to int8: what quantize() knows between its stages.
class Session {
 public:
  Session(Graph network, const Settings& settings, const Pictures& pictures,
          const Progress& progress);

  void judge_float();
  void equalize_layers();
  void calibrate();
  void keep_named_layers();
  void keep_slow_layers();
  void correct_biases();
  void judge_parts();
  void judge_bits();
  void measure_sensitivity();
  // Keeps layers in float, the most sensitive first, until the accuracy holds.
  void hold_accuracy();
  // The int8 network and the last step.
  Graph finish();
  QuantizeResult take_result();

 private:
  WeightScheme scheme(int64_t bits) const;
  WeightScheme scheme() const { return scheme(settings_.weight_bits); }
  PlanOptions plan_options() const;
  ValueSteps steps_for_plan(const Plan& plan, const RangeRule& rule);
  // The int8 network with these layers in float.
  Graph rounded(const PlanOptions& options, const Parts& parts = {});
  std::optional<QuantizedQuality> judge(const Graph& graph, const std::string& step);
  void describe_layers();
  void describe(const NodeView& layer, const Plan& plan, const ValueSteps& steps,
                LayerResult& out) const;
  void notice(std::string text) { result_.notices.push_back(std::move(text)); }

  Settings settings_;
  Pictures pictures_;
  Progress progress_;
  Prepared prepared_;
  Graph corrected_;  // prepared, with corrected biases
  Plan widest_;      // everything in int8, all results rounded
  ObservedValues seen_;
  std::map<int64_t, ValueRanges> ranges_;  // by bits
  std::unique_ptr<QualityJudge> judge_;
  std::optional<double> float_top1_;
  std::map<std::string, std::string> keep_float_;
  std::map<NodeId, LayerTime> layer_times_;
  std::map<NodeId, double> sensitivity_;
  QuantizeResult result_;
};

// Long enough for many turns of a layer that takes microseconds, short enough for a hundred layers.
constexpr double kLayerSeconds = 0.1;
constexpr int64_t kBars = 64;

Session::Session(Graph network, const Settings& settings, const Pictures& pictures,
                 const Progress& progress)
    : settings_(settings),
      pictures_(pictures),
      progress_(progress),
      prepared_(prepare(std::move(network), settings.seed)) {
  TY_REQUIRE(!make_plan(prepared_.graph, {}).layers.empty(),
             "'{}' has no convolution or matrix product with known weights: nothing to quantize",
             prepared_.graph.name());
  if (pictures_.test != nullptr) {
    judge_ = std::make_unique<QualityJudge>(*pictures_.test, settings_.test_images,
                                            pictures_.classes, settings_.threads);
  }
}

WeightScheme Session::scheme(int64_t bits) const {
  return {.per_channel = settings_.per_channel,
          .limit = weight_limit(bits, settings_.reduced),
          .range = settings_.weight_range};
}

PlanOptions Session::plan_options() const {
  return {.keep_float = keep_float_, .round_all_results = settings_.integer_operators};
}

// Choosing ranges searches every histogram, and only the number of bits changes the answer:
// found once for each, whatever the plan rounds.
ValueSteps Session::steps_for_plan(const Plan& plan, const RangeRule& rule) {
  if (pictures_.calibration == nullptr) return steps_from_statistics(prepared_, plan, rule);
  const auto [found, fresh] = ranges_.try_emplace(rule.bits);
  if (fresh) found->second = ranges_from(seen_, rule);
  return steps_of_groups(plan, found->second, rule);
}

Graph Session::rounded(const PlanOptions& options, const Parts& parts) {
  const Plan plan = make_plan(prepared_.graph, options);
  const ValueSteps steps = steps_for_plan(plan, settings_.activations);
  return rewrite(corrected_, plan, steps, scheme(), parts);
}

std::optional<QuantizedQuality> Session::judge(const Graph& graph, const std::string& step) {
  if (judge_ == nullptr) return std::nullopt;
  progress_(0, "testing: " + step);
  const QuantizedQuality found = judge_->of(graph);
  result_.steps.push_back({step, found.top1, found.output_sqnr_db});
  return found;
}

void Session::judge_float() {
  if (judge_ == nullptr) return;
  progress_(0, "testing: float");
  const QuantizedQuality found = judge_->reference(prepared_.graph);
  float_top1_ = found.top1;
  result_.before.top1 = found.top1;
  result_.test_images = judge_->images();
  result_.steps.push_back({"float", found.top1, std::nullopt});
}

// Before calibration, since it changes what flows between the layers.
void Session::equalize_layers() {
  if (!settings_.equalize) return;
  const Equalized done = equalize(prepared_);
  if (done.opened_clips > 0) {
    notice(
        fmt::format("Equalization made a Relu of {} Clips from 0: what they cut off is now kept, "
                    "so the float network is not quite the same.",
                    done.opened_clips));
  }
  judge(prepared_.graph, fmt::format("{} pairs of layers equalized, float", done.pairs));
}

// Counts everything that any later plan may round, in one pass over the pictures.
void Session::calibrate() {
  corrected_ = prepared_.graph;
  widest_ = make_plan(prepared_.graph, {.round_all_results = settings_.integer_operators});
  if (pictures_.calibration == nullptr) {
    notice(
        "No calibration pictures: ranges are four standard deviations around the means that "
        "batch normalization states, and pictures are taken to lie between -3 and 3. Expect to "
        "lose accuracy; give `data`.");
    return;
  }
  seen_ = observe(prepared_.graph, widest_, *pictures_.calibration,
                  {.images = settings_.calibration_images,
                   .channel_means = settings_.correct_biases,
                   .threads = settings_.threads},
                  progress_);
  result_.calibration_images = seen_.images;
  TY_REQUIRE(seen_.images > 0, "the data has no pictures to calibrate with");
  for (const auto& [id, histogram] : seen_.histograms) {
    if (histogram.min() != histogram.max()) continue;
    notice(
        fmt::format("'{}' is {} everywhere on the calibration pictures: it carries nothing, and "
                    "its range is that of one number.",
                    prepared_.graph.value(id).name, histogram.min()));
  }
}

void Session::keep_named_layers() {
  std::vector<std::string> names;
  for (const NodeId id : widest_.layers) names.push_back(prepared_.graph.node(id).name);
  for (const std::string& wanted : settings_.keep_float) {
    const bool beginning = wanted.ends_with('*');
    const std::string_view text(wanted.data(), wanted.size() - (beginning ? 1 : 0));
    bool found = false;
    for (const std::string& name : names) {
      if (beginning ? !name.starts_with(text) : name != text) continue;
      keep_float_[name] = "asked for";
      found = true;
    }
    TY_REQUIRE(found && !wanted.empty(), "`keep_float` {}: no layer has that name.{}", wanted,
               did_you_mean(wanted, names));
  }
}

void Session::keep_slow_layers() {
  if (!settings_.keep_slow_layers) return;
  progress_(0, "timing layers alone");
  layer_times_ = time_layers(prepared_.graph, widest_, scheme(), settings_.threads, kLayerSeconds);
  for (const auto& [id, time] : layer_times_) {
    // In float its neighbors' steps have to be converted to floats and back, which takes time too.
    if (time.int8_s <= time.between_s) continue;
    keep_float_.try_emplace(
        prepared_.graph.node(id).name,
        fmt::format("predicted slower in int8: {} against {} in float between int8 layers",
                    seconds_text(time.int8_s), seconds_text(time.between_s)));
  }
}

void Session::correct_biases() {
  if (!settings_.correct_biases) return;
  TY_REQUIRE(pictures_.calibration != nullptr,
             "correcting biases needs the means of what flows into layers: give pictures with "
             "`data`");
  const Plan plan = make_plan(prepared_.graph, plan_options());
  const int64_t corrected = quant::correct_biases(corrected_, plan, seen_, scheme(),
                                                  steps_for_plan(plan, settings_.activations));
  judge(rounded(plan_options()), fmt::format("biases of {} layers corrected", corrected));
}

// What each kind of rounding costs, one more at a time.
void Session::judge_parts() {
  if (!settings_.parts) return;
  const auto one = [&](const char* step, const Parts& parts) {
    judge(rounded(plan_options(), parts), step);
  };
  one("weights", {true, false, false});
  one("activations alone", {false, true, false});
  one("weights and activations", {true, true, false});
  one("weights, activations and biases", {true, true, true});
}

void Session::judge_bits() {
  if (judge_ == nullptr) return;
  const Plan plan = make_plan(prepared_.graph, plan_options());
  for (const int64_t bits : settings_.study_bits) {
    RangeRule rule = settings_.activations;
    rule.bits = bits;
    const ValueSteps steps = steps_for_plan(plan, rule);
    for (const bool activations : {false, true}) {
      progress_(0, fmt::format("testing: {} bits", bits));
      const QuantizedQuality found = judge_->of(
          rewrite(corrected_, plan, steps, scheme(bits), {true, activations, activations}));
      result_.bits.push_back({bits, activations ? bits : 32, found.top1, found.output_sqnr_db});
    }
  }
}

// Each layer rounded alone, all others in float: what it adds by itself.
void Session::measure_sensitivity() {
  if (!settings_.sensitivity) return;
  TY_REQUIRE(judge_ != nullptr, "sensitivity is measured on pictures: give them with `data`");
  QualityJudge few(*pictures_.test, settings_.sensitivity_images, pictures_.classes,
                   settings_.threads);
  few.reference(prepared_.graph);
  double done = 0;
  for (const NodeId id : widest_.layers) {
    PlanOptions others{.keep_float = {}, .round_all_results = settings_.integer_operators};
    for (const NodeId other : widest_.layers) {
      if (other != id) others.keep_float[prepared_.graph.node(other).name] = "";
    }
    const QuantizedQuality found = few.of(rounded(others));
    // Few pictures change their class: how much the outputs move says more.
    sensitivity_[id] = std::pow(10, -found.output_sqnr_db / 10);
    progress_(++done / static_cast<double>(widest_.layers.size()), "layers one at a time");
  }
}

// Gives the noisiest layers back to float, one after another, until the loss is within the limit.
// Noise of layers does not simply add up, so each choice is tested before the next is made.
void Session::hold_accuracy() {
  if (!settings_.max_drop) return;
  TY_REQUIRE(float_top1_,
             "`max_drop` is about top-1: the data must have classes, and the network "
             "tell them");
  std::vector<std::pair<double, NodeId>> order;
  for (const auto& [id, noise] : sensitivity_) order.emplace_back(noise, id);
  std::sort(order.rbegin(), order.rend());
  const auto drop = [&](const std::optional<QuantizedQuality>& found) {
    return (*float_top1_ - found->top1.value_or(0)) * 100;
  };
  double lost = drop(judge(rounded(plan_options()), "int8"));
  for (const auto& [noise, id] : order) {
    if (lost <= *settings_.max_drop) return;
    const std::string& name = prepared_.graph.node(id).name;
    if (keep_float_.contains(name)) continue;
    keep_float_[name] = fmt::format(
        "{:.2f} points were lost, and alone it makes the most noise of "
        "those left: {:.2g} of the outputs' energy",
        lost, noise);
    lost = drop(judge(rounded(plan_options()), fmt::format("'{}' kept in float", name)));
  }
  if (lost > *settings_.max_drop) {
    notice(
        fmt::format("With every layer in float {:.2f} points are still lost, more than {}: "
                    "equalization changed the network.",
                    lost, *settings_.max_drop));
  }
}

Graph Session::finish() {
  describe_layers();
  Graph graph = rounded(plan_options());
  if (settings_.integer_operators) graph = to_integer_operators(std::move(graph));
  if (const auto found =
          judge(graph, settings_.integer_operators ? "int8, QLinear operators" : "int8")) {
    result_.after.top1 = found->top1;
    result_.after.output_sqnr_db = found->output_sqnr_db;
  }
  for (const auto& [op, nodes] :
       float_operators(prepared_.graph, make_plan(prepared_.graph, plan_options()))) {
    result_.float_operators.push_back({op, nodes});
  }
  return graph;
}

void Session::describe_layers() {
  const Plan plan = make_plan(prepared_.graph, plan_options());
  const ValueSteps steps = steps_for_plan(plan, settings_.activations);
  for (const NodeId id : plan.layers) {
    LayerResult out;
    describe({corrected_, id}, plan, steps, out);
    if (const auto found = sensitivity_.find(id); found != sensitivity_.end()) {
      out.sensitivity = found->second;
    }
    if (const auto found = layer_times_.find(id); found != layer_times_.end()) {
      out.predicted_float_us = found->second.float_s * 1e6;
      out.predicted_int8_us = found->second.int8_s * 1e6;
    }
    result_.layers.push_back(std::move(out));
  }
}

void Session::describe(const NodeView& layer, const Plan& plan, const ValueSteps& steps,
                       LayerResult& out) const {
  const Tensor& weights = *layer.input_constant(1);
  out.name = layer.name();
  out.kind = layer.op();
  out.parameters = weights.num_elements();
  Histogram seen_weights;
  seen_weights.add(weights.values<float>());
  const auto spread = [&](const Histogram& histogram) {
    Spread found{.min = histogram.min(),
                 .max = histogram.max(),
                 .mean = histogram.mean(),
                 .sigma = histogram.sigma(),
                 .bars = {}};
    const double reach = 3 * histogram.sigma();
    found.beyond = static_cast<double>(histogram.outside(-reach, reach)) /
                   static_cast<double>(std::max<int64_t>(1, histogram.count()));
    if (settings_.histograms) found.bars = histogram.bars(kBars);
    return found;
  };
  out.weights = spread(seen_weights);
  const Histogram* input = histogram_of(widest_, seen_, layer.input(0));
  if (input != nullptr) out.input = spread(*input);
  const auto output = seen_.outputs.find(layer.output(0));
  if (output != seen_.outputs.end()) out.output = spread(output->second);
  out.kept_float = !plan.is_int8(layer.id());
  if (out.kept_float) {
    out.reason = keep_float_.at(layer.name());
    return;
  }
  const Steps& own = steps.at(layer.input(0));
  const QuantizedLayer rounded = quantize_layer(layer, own, scheme());
  out.bits = settings_.weight_bits == 8 && settings_.reduced ? 7 : settings_.weight_bits;
  out.scheme =
      fmt::format("{}, {} activations", settings_.per_channel ? "per channel" : "per tensor",
                  settings_.activations.symmetric ? "symmetric" : "asymmetric");
  out.weight_sqnr_db = sqnr_db(weights, rounded.weights.reals(output_axis(layer)));
  out.input_scale = double{own.scale};
  out.input_zero = own.zero;
  const auto& scales = rounded.weights.scales;
  out.least_scale = double{*std::min_element(scales.begin(), scales.end())};
  out.largest_scale = double{*std::max_element(scales.begin(), scales.end())};
  if (input != nullptr) {
    out.activation_sqnr_db = rounding_sqnr_db(*input, own);
    // What lies within half a step of the ends is rounded to them.
    const double half = double{own.scale} / 2;
    out.input.saturated = static_cast<double>(input->outside(own.low() - half, own.high() + half)) /
                          static_cast<double>(input->count());
  }
}

QuantizeResult Session::take_result() {
  return std::move(result_);
}

}  // namespace

Quantized quantize(Graph network, const Settings& settings, const Pictures& pictures,
                   const Progress& progress) {
  const Stopwatch watch;
  Session session(std::move(network), settings, pictures, progress);
  session.judge_float();
  session.equalize_layers();
  const double before = watch.seconds();
  session.calibrate();
  const double calibrated = watch.seconds();
  session.keep_named_layers();
  session.keep_slow_layers();
  session.judge_parts();
  session.correct_biases();
  session.measure_sensitivity();
  session.hold_accuracy();
  session.judge_bits();
  Quantized done{session.finish(), session.take_result()};
  done.result.calibrate_s = calibrated - before;
  return done;
}

}  // namespace trainyard::quant
