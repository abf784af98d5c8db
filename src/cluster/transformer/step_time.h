// How long a training step takes, part by part (docs/predict-transformers.md has the formulas).
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {

enum Factor : uint8_t {
  kMatmul,       // share of the peak of a large matrix product
  kEdge,         // elements that each side of a product loses
  kMemory,       // share of the memory's bandwidth, of the bytes that are counted
  kAttention,    // of attention's products, against other products
  kHost,         // seconds that launching one pass over a layer takes
  kTensorLink,   // share of the link, tensor exchange
  kTensorDelay,  // seconds before a tensor exchange moves bytes
  kDataLink,     // share of the link, data exchange
  kOverlap,      // 1: data exchange waits for the computation; large: hidden behind it
  kPipe,         // of what passing on the bytes of activations would take alone
  kPipeDelay,    // seconds that a stage loses when it passes on activations
  kStep,         // seconds of a step that depend on nothing
  kFp8,          // of the peak in fp8, against half precision
  kFp4,          // the same in four bits
  kExpertLink,   // share of the link, exchange of tokens between experts
  kGrouped,      // of the products of experts, against other products
  kExpertHost,   // seconds that the host takes for each expert of a device, one pass over a layer
  kLowPower,     // of all products on boards of at most 75 W
  kPascal,       // of all products on a generation
  kVolta,
  kTuring,
  kAmpere,
  kAda,
  kHopper,
  kBlackwell,
  kCdna,
  kNumFactors
};

struct FactorInfo {
  std::string_view name;
  double usual = 1;   // before anything is measured
  double spread = 1;  // how far from it is still likely: a standard deviation of the logarithm
};
const std::array<FactorInfo, kNumFactors>& factor_infos();

using Factors = std::array<double, kNumFactors>;
Factors usual_factors();
// The factor of products on a generation; -1: none of its own.
int generation_factor(std::string_view generation);

// 80 % of the measured speeds lie between these shares of the predicted.
struct SpeedInterval {
  double low = 0.5;
  double high = 2;

  bool has(double share) const { return share >= low && share <= high; }
};

// One stack of the catalog with how well it fits.
struct FittedStack {
  std::string name;
  std::vector<std::string> stacks;  // as results name them
  Factors factors = {};
  int64_t rows = 0;     // that it was fitted to
  SpeedInterval known;  // of networks of other sizes than the rows', on devices that they know
  SpeedInterval far;    // on a generation of devices that the rows do not know
  std::vector<std::string> generations;  // that they know

  bool knows(std::string_view generation) const;
  const SpeedInterval& interval(std::string_view generation) const {
    return knows(generation) ? known : far;
  }
};

// catalog/transformer_factors.csv.
std::span<const FittedStack> fitted_stacks();
// The stack whose name results begin with, or its nearest relative: PyTorch's where weights are
// shared out (`sharded`), otherwise Megatron's. One may have a set of its own for networks with
// experts, "megatron-core-experts".
const FittedStack& stack_for(std::string_view published, bool experts, bool sharded = false);
// The same of a stack that somebody asks for: throws Error listing those that are known instead of
// taking a relative.
const FittedStack& stack_named(std::string_view name, bool experts);
// The table as the catalog has it.
std::string factors_csv(std::span<const FittedStack> stacks);

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
