// What training makes small: an objective adds a loss to the outputs of a network, together with
// the inputs that it needs beyond the network's own and the metrics that are worth showing.
// docs/adding-an-objective.md walks through one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/builder.h"

namespace trainyard::train {

enum class MetricKind : uint8_t {
  kCount,  // an i64 scalar: of how many samples something holds
  kMean,   // an f32 scalar: a mean over the samples
  kEach,   // a tensor, such as one number per sample; for whoever runs the step, not for reports
};

struct Metric {
  std::string name;
  ValueId value;
  MetricKind kind = MetricKind::kMean;
  // Of kCount: what its share of the samples is called.
  std::string share = {};
};

// An input that an objective adds, to be filled before each step. `name` is what the objective and
// those who fill it call it; the graph may call it otherwise, as a network may have the name too.
struct ObjectivePort {
  std::string name;
  ValueId value;
};

struct ObjectiveNodes {
  std::vector<ObjectivePort> inputs;
  // One f32 element, a mean over the samples: workers weight theirs by their share of them.
  ValueId loss;
  std::vector<Metric> metrics;

  // Adds an input to the graph and to the list.
  ValueId add_input(ops::Builder& builder, std::string name, TensorType type);
};

// Called once for each graph that is made, with the network's outputs; names of nodes begin with
// "loss.". Throws Error for outputs that it cannot take. Any folder may bring its own: whatever can
// be called like this is an objective.
using Objective =
    std::function<ObjectiveNodes(ops::Builder& builder, std::span<const ValueId> outputs)>;

// Class indices, i64[batch]; -1: not counted (unless labels are smoothed).
inline constexpr const char* kLabelsInput = "labels";
// Probabilities, scores or numbers, f32 of the first output's shape.
inline constexpr const char* kTargetsInput = "targets";
// The losses of language models; see train/objectives/next_token.cpp.
inline constexpr const char* kNextToken = "next-token";
inline constexpr const char* kMaskedToken = "masked-token";
// Where an answer begins and ends; its input kLabelsInput is i64[batch, 2].
inline constexpr const char* kSpan = "span";
// The usual one of numbers; see train/objectives/regression.cpp.
inline constexpr const char* kMeanSquareLoss = "mse";
// Whether it is one of numbers against numbers.
bool compares_numbers(std::string_view loss);
// The samples whose largest score is the target's: kCount.
inline constexpr const char* kCorrectMetric = "correct";
inline constexpr const char* kAccuracy = "accuracy";

struct ObjectiveOptions {
  // This share of a target's probability is spread evenly over all classes; of losses over classes.
  double label_smoothing = 0;
  // Weight of the losses of the second and further outputs (auxiliary heads).
  double auxiliary_weight = 0.3;
  double delta = 1;        // where huber and smooth-l1 become linear
  double temperature = 1;  // of kl
  double focus = 2;        // of focal
  // Of cross-entropy, soft-cross-entropy and focal: one per class, or none.
  std::vector<float> class_weights = {};
  // Of losses of numbers: differences are counted in these.
  double target_scale = 1;
  // Samples may be of several classes at once, so targets are probabilities.
  bool mixed_targets = false;
};

// The objectives that `train --loss` knows, one file each in train/objectives/.
struct ObjectiveDef {
  std::string_view name;
  std::string_view summary;
  Objective (*make)(const ObjectiveOptions&);
};
std::span<const ObjectiveDef* const> objective_list();

// Throws Error with the nearest name for one that is not listed.
Objective make_objective(std::string_view name, const ObjectiveOptions& options = {});

}  // namespace trainyard::train
