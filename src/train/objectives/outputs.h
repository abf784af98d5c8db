// What objectives share.
#pragma once

#include <functional>

#include "train/objective.h"

namespace trainyard::train {

// What goes into the output's last node if that is `activation`: losses take scores, so a network
// that ends in Softmax or Sigmoid is trained on what comes before it.
ValueId before_activation(const Graph& graph, ValueId output, std::string_view activation);

// `output` without a final Softmax. Throws Error unless it is batch x classes.
ValueId class_scores(const Graph& graph, ValueId output);

// The loss of the first output, plus `weight` times that of each further one.
ValueId sum_over_outputs(ops::Builder& builder, std::span<const ValueId> outputs, double weight,
                         const std::function<ValueId(ValueId output)>& loss);

// The metric kCorrectMetric of class scores.
Metric correct_metric(ops::Builder& builder, ValueId scores, ValueId targets);

// An objective over classes whose targets are f32 of the scores' shape. `loss` makes it small for
// one output.
ObjectiveNodes add_soft_classes(
    ops::Builder& builder, std::span<const ValueId> outputs, double auxiliary_weight,
    const std::function<ValueId(ValueId scores, ValueId targets)>& loss);

}  // namespace trainyard::train
