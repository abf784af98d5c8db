#include "train/objectives/outputs.h"

#include "base/error.h"
#include "train/objectives/loss.h"

namespace trainyard::train {

ValueId before_activation(const Graph& graph, ValueId output, std::string_view activation) {
  const Value& value = graph.value(output);
  if (!value.producer.valid() || graph.node(value.producer).op != activation) return output;
  return graph.node(value.producer).inputs[0];
}

ValueId class_scores(const Graph& graph, ValueId output) {
  const ValueId id = before_activation(graph, output, "Softmax");
  const Value& scores = graph.value(id);
  TY_REQUIRE(scores.type.shape.rank() == 2 && is_float(scores.type.dtype),
             "output '{}' is {}, expected scores of classes: batch x classes", scores.name,
             scores.type.to_string());
  return id;
}

ValueId sum_over_outputs(ops::Builder& builder, std::span<const ValueId> outputs, double weight,
                         const std::function<ValueId(ValueId output)>& loss) {
  ValueId sum = loss(outputs[0]);
  for (const ValueId output : outputs.subspan(1)) {
    const ValueId extra = loss(output);
    const ValueId factor = builder.constant_scalar("auxiliary_weight", static_cast<float>(weight));
    sum = builder.add("Add", {sum, builder.add("Mul", {extra, factor})});
  }
  return sum;
}

Metric correct_metric(ops::Builder& builder, ValueId scores, ValueId targets) {
  return {.name = kCorrectMetric,
          .value = add_correct(builder, scores, targets),
          .kind = MetricKind::kCount,
          .share = kAccuracy};
}

ObjectiveNodes add_soft_classes(
    ops::Builder& builder, std::span<const ValueId> outputs, double auxiliary_weight,
    const std::function<ValueId(ValueId scores, ValueId targets)>& loss) {
  const Graph& graph = builder.graph();
  const ValueId scores = class_scores(graph, outputs[0]);
  ObjectiveNodes made;
  const ValueId targets = made.add_input(builder, kTargetsInput, builder.type(scores));
  made.loss = sum_over_outputs(builder, outputs, auxiliary_weight, [&](ValueId output) {
    return loss(class_scores(graph, output), targets);
  });
  made.metrics.push_back(correct_metric(builder, scores, targets));
  return made;
}

}  // namespace trainyard::train
