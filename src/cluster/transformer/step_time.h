// How long a training step takes, part by part (docs/predict-transformers.md has the formulas).
#pragma once

#include <string_view>

#include "cluster/transformer/factors.h"
#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {

enum class Pass : uint8_t { kTraining, kForward };

// Seconds of one device in one step. The parts add up to the step.
struct StepTime {
  double matmul = 0;
  double attention = 0;
  double memory = 0;    // norms, activations, sums: what bandwidth bounds
  double launch = 0;    // the device waits for its host
  double head = 0;      // the products and the loss over the vocabulary
  double tensor = 0;    // exchange of tensor parallelism
  double context = 0;   // of keys and values
  double expert = 0;    // of tokens
  double bubble = 0;    // waiting for other stages
  double pipeline = 0;  // passing on activations
  double data = 0;      // gradients and weights, what is not hidden
  double optimizer = 0;
  double offload = 0;  // to the host's memory and back, what is not hidden
  double other = 0;

  double total() const;
  std::string_view largest() const;
};

// What a step costs of one model on one kind of device; many mappings are asked of it.
class StepModel {
 public:
  StepModel(const Transformer& model, const Machine& machine, const Factors& factors,
            int64_t sequence);

  // The mapping must be valid.
  StepTime step(const Mapping& mapping, Pass pass = Pass::kTraining) const;

  double tokens(const Mapping& mapping) const;
  // Model FLOPs per second over the peak of its precision: forward and twice that backward, causal
  // attention counted half.
  double mfu(const Mapping& mapping, double step_seconds) const;
  // The same with what is computed again.
  double hfu(const Mapping& mapping, double step_seconds) const;

 private:
  struct Layer;
  double product(double rows, double columns, double inner, double rate) const;
  double rate(Number number) const;
  double attention_seconds(const Mapping& mapping, double tokens) const;
  double linear_seconds(const Mapping& mapping, double tokens) const;
  double dense_ffn(const Mapping& mapping, double tokens) const;
  double expert_ffn(const Mapping& mapping, double tokens) const;
  double memory_seconds(const Mapping& mapping, double tokens) const;
  double scores_seconds(const Mapping& mapping, double tokens) const;
  double head_seconds(const Mapping& mapping, double tokens) const;
  double tensor_seconds(const Mapping& mapping, double tokens) const;
  double expert_seconds(const Mapping& mapping, double tokens) const;
  double context_seconds(const Mapping& mapping, double tokens) const;
  double group_bandwidth(int64_t stride, int64_t members) const;
  double launch_seconds(const Mapping& mapping) const;
  double exchange_seconds(double times, double parameters, int64_t stride, int64_t members,
                          double size) const;
  double weights_exchange(const Mapping& mapping, double rounds) const;
  double data_exchange(const Mapping& mapping, double rounds) const;
  void add_offload(const Mapping& mapping, double own, StepTime& time) const;
  void add_layers(const Mapping& mapping, Pass pass, double tokens, StepTime& time) const;
  void add_pipeline(const Mapping& mapping, Pass pass, double tokens, StepTime& time) const;
  void add_update(const Mapping& mapping, StepTime& time) const;

  Transformer model_;
  Machine machine_;
  Factors factors_;
  int64_t sequence_;
  double generation_ = 1;
  double expert_share_ = 0;
  Parameters count_;
  TokenFlops flops_;
};

}  // namespace trainyard::transformer
