// What training makes small: losses as nodes that gradient rules know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace trainyard::train {

struct LossOptions {
  // "cross-entropy": of scores against class indices, or against probabilities of the scores'
  // shape; "mse": mean of squared differences; "huber": squared up to `delta`, then linear, mean;
  // "smooth-l1": huber divided by `delta`; "bce": binary cross-entropy of scores against
  // probabilities, mean; "kl": divergence of softmax(scores / temperature) from softmax(targets /
  // temperature), times temperature squared, so that gradients do not shrink.
  std::string kind = "cross-entropy";

  // Of cross-entropy: this share of the probability is spread evenly over all classes.
  double label_smoothing = 0;
  // Of cross-entropy and focal: one per class, or none. Against indices the mean is weighted by
  // them, against probabilities it is that of all rows.
  std::vector<float> class_weights = {};
  std::optional<int64_t> ignore_index = {};  // of cross-entropy against indices: does not count

  double delta = 1;
  double temperature = 1;
  // "focal": cross-entropy against probabilities in which class c counts (1 - p_c)^focus.
  double focus = 2;
};

const std::vector<std::string>& loss_names();

// Adds the loss, one element, of scores (batch x classes x …, or any shape for mse, huber,
// smooth-l1 and bce). Throws Error for options or targets that do not fit.
ValueId add_loss(ops::Builder& builder, const LossOptions& options, ValueId scores,
                 ValueId targets);

// Adds the number of rows (batch x classes) whose largest score is the target's: an i64 scalar.
// Targets are class indices, or probabilities whose largest counts.
ValueId add_correct(ops::Builder& builder, ValueId scores, ValueId targets);

}  // namespace trainyard::train
