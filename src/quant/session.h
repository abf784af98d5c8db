// One network on its way to int8: what quantize() knows between its stages.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "quant/layer_time.h"
#include "quant/quantize.h"

namespace trainyard::quant {

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
  std::optional<Judgment> judge(const Graph& graph, const std::string& step);
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
  Seen seen_;
  std::map<int64_t, ValueRanges> ranges_;  // by bits
  std::unique_ptr<Judge> judge_;
  std::optional<double> float_top1_;
  std::map<std::string, std::string> keep_float_;
  std::map<NodeId, LayerTime> layer_times_;
  std::map<NodeId, double> sensitivity_;
  QuantizeResult result_;
};

}  // namespace trainyard::quant
