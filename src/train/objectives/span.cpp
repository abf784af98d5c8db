// span: the first and the last token of an answer in a text.
#include "base/error.h"
#include "train/objectives/loss.h"
#include "train/objectives/outputs.h"

namespace trainyard::train {
namespace {

constexpr int64_t kNoPlace = -1;

// Places are classes: a row for the first token and one for the last.
Objective make_span_loss(const ObjectiveOptions& options) {
  return [options](ops::Builder& builder, std::span<const ValueId> outputs) {
    const Shape scores = builder.shape(outputs[0]);
    TY_REQUIRE(scores.rank() == 3 && scores[2] == 2,
               "output of shape {}, expected scores of spans: batch x length x 2",
               scores.to_string());
    ObjectiveNodes made;
    const ValueId ends = made.add_input(builder, kLabelsInput, {DType::kI64, {scores[0], 2}});
    const std::vector<int64_t> flat = {-1};
    const ValueId labels = builder.add("Reshape", {ends, builder.constant_ints("flat", flat)});
    const std::vector<int64_t> order = {0, 2, 1};
    const ValueId turned = builder.add("Transpose", {outputs[0]}, {{"perm", order}});
    const std::vector<int64_t> shape = {-1, scores[1]};
    const ValueId rows = builder.add("Reshape", {turned, builder.constant_ints("rows", shape)});
    made.loss =
        add_loss(builder, {.label_smoothing = options.label_smoothing, .ignore_index = kNoPlace},
                 rows, labels);
    return made;
  };
}

}  // namespace

extern const ObjectiveDef kSpanLoss = {
    kSpan, "of the scores of places against where an answer begins and ends", make_span_loss};

}  // namespace trainyard::train
