// next-token and masked-token: language models.
#include "base/error.h"
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

constexpr int64_t kNotCounted = -1;

// The scores as rows of one token each.
ValueId token_rows(ops::Builder& builder, ValueId output) {
  const Value& value = builder.graph().value(output);
  const Shape shape = value.type.shape;
  TY_REQUIRE(shape.rank() >= 2 && is_float(value.type.dtype),
             "output '{}' is {}, expected scores of tokens: batch x length x vocabulary",
             value.name, value.type.to_string());
  if (shape.rank() == 2) return output;
  const std::vector<int64_t> rows = {-1, shape.dim(-1)};
  return builder.add("Reshape", {output, builder.constant_ints("rows", rows)});
}

// Every row of a batch has as many tokens that count, so the mean over them is one over samples.
// Further outputs are single numbers that a network wants small, or heads like the first.
Objective make_token_loss(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const Shape scores = builder.shape(outputs[0]);
    TY_REQUIRE(scores.rank() >= 2, "output of shape {}, expected scores of tokens",
               scores.to_string());
    const std::span<const int64_t> dims = scores.dims();
    ObjectiveNodes made;
    ValueId labels =
        made.add_input(builder, kLabelsInput,
                       {DType::kI64, Shape(std::vector<int64_t>(dims.begin(), dims.end() - 1))});
    if (scores.rank() > 2) {
      const std::vector<int64_t> flat = {-1};
      labels = builder.add("Reshape", {labels, builder.constant_ints("flat", flat)});
    }
    const LossOptions loss{.label_smoothing = options.label_smoothing, .ignore_index = kNotCounted};
    made.loss = sum_over_outputs(builder, outputs, options.auxiliary_weight, [&](ValueId output) {
      if (builder.shape(output).num_elements() == 1) return output;
      return add_loss(builder, loss, token_rows(builder, output), labels);
    });
    return made;
  };
}

}  // namespace

extern const ObjectiveDef kNextTokenLoss = {
    kNextToken, "of the scores of tokens against the token that follows", make_token_loss};
extern const ObjectiveDef kMaskedTokenLoss = {
    kMaskedToken, "of the scores of tokens against those that were hidden", make_token_loss};

}  // namespace trainyard::train
