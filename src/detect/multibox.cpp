#include "detect/multibox.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::detect {
namespace {

constexpr int64_t kNotCounted = -1;

// SSD (Liu et al. 2016): (smooth L1 of the locations + cross-entropy of the classes) / matched
// priors. Label 0 is the background.
class MultiboxMaker {
 public:
  MultiboxMaker(ops::Builder& builder, ValueId locations, ValueId scores)
      : b_(builder), locations_(locations), scores_(scores) {}

  train::ObjectiveNodes make() {
    const Shape& shape = b_.shape(scores_);
    train::ObjectiveNodes made;
    const ValueId labels =
        made.add_input(b_, kPriorLabelsInput, {DType::kI64, {shape[0], shape[1]}});
    const ValueId offsets = made.add_input(b_, kPriorOffsetsInput, b_.type(locations_));
    const ValueId positive =
        b_.add("Cast", {b_.add("Greater", {labels, zero()})}, {{"to", kFloatCode}});
    // A batch without objects must not divide by zero.
    const ValueId count = b_.add("Max", {sum(positive), b_.constant_scalar("loss.one", 1)});
    const ValueId location_loss = b_.add("Div", {smooth_l1(offsets, positive), count});
    const ValueId class_loss = b_.add("Div", {cross_entropy(labels), count});
    made.loss = b_.add("Add", {location_loss, class_loss});
    made.metrics = {{.name = "location_loss", .value = location_loss},
                    {.name = "class_loss", .value = class_loss}};
    return made;
  }

 private:
  static constexpr int64_t kFloatCode = 1;  // of ONNX

  ValueId zero() {
    Tensor zero = Tensor::zeros({DType::kI64, {}});
    return b_.constant("loss.background", std::move(zero));
  }

  ValueId sum(ValueId x) { return b_.add("ReduceSum", {x}, {{"keepdims", int64_t{0}}}); }

  // With q = min(|d|, 1): q * (|d| - q / 2), of priors with an object.
  ValueId smooth_l1(ValueId offsets, ValueId positive) {
    const ValueId size = b_.add("Abs", {b_.add("Sub", {locations_, offsets})});
    const ValueId q = b_.add("Clip", {size, kNoValue, b_.constant_scalar("loss.linear_from", 1)});
    const ValueId half = b_.add("Mul", {q, b_.constant_scalar("loss.half", 0.5F)});
    const ValueId each = b_.add("Mul", {q, b_.add("Sub", {size, half})});
    const int64_t last = 2;
    const ValueId column =
        b_.add("Unsqueeze", {positive, b_.constant_ints("loss.last_axis", {&last, 1})});
    return sum(b_.add("Mul", {each, column}));
  }

  // Most priors see background, so only the hardest of them count, kNegativeRatio for each match;
  // others get the label that the loss ignores.
  ValueId cross_entropy(ValueId labels) {
    const ValueId counted = b_.add("MineNegatives", {scores_, labels}, {{"ratio", kNegativeRatio}});
    const int64_t rows[] = {-1, b_.shape(scores_)[2]};
    const int64_t all[] = {-1};
    const ValueId flat_scores =
        b_.add("Reshape", {scores_, b_.constant_ints("loss.score_rows", rows)});
    const ValueId flat_labels =
        b_.add("Reshape", {counted, b_.constant_ints("loss.label_rows", all)});
    return b_.add("SoftmaxCrossEntropyLoss", {flat_scores, flat_labels},
                  {{"reduction", std::string("sum")}, {"ignore_index", kNotCounted}});
  }

  ops::Builder& b_;
  ValueId locations_;
  ValueId scores_;
};

Object object_of(const data::Box& box, double width, double height) {
  return {.region = {.left = static_cast<double>(box.left) / width,
                     .top = static_cast<double>(box.top) / height,
                     .right = static_cast<double>(box.right) / width,
                     .bottom = static_cast<double>(box.bottom) / height},
          .label = box.label + 1};
}

}  // namespace

train::ObjectiveNodes add_multibox_loss(ops::Builder& builder, std::span<const ValueId> outputs) {
  TY_REQUIRE(outputs.size() == 2, "a detector has 2 outputs, locations and scores; found {}",
             outputs.size());
  const Shape& locations = builder.shape(outputs[0]);
  const Shape& scores = builder.shape(outputs[1]);
  TY_REQUIRE(locations.rank() == 3 && scores.rank() == 3 && locations[2] == 4 &&
                 locations[1] == scores[1] && locations[0] == scores[0],
             "expected locations of batch x priors x 4 and scores of batch x priors x classes, "
             "found {} and {}",
             locations.to_string(), scores.to_string());
  return MultiboxMaker(builder, outputs[0], outputs[1]).make();
}

// The priors of a batch are matched on the thread that trains; the matcher is shared and const.
train::Feed multibox_feed(std::shared_ptr<const Matcher> matcher) {
  return [matcher = std::move(matcher)](const data::Batch& batch,
                                        std::span<const train::ObjectiveInput> inputs) {
    TY_CHECK(inputs.size() == 2 && inputs[0].name == kPriorLabelsInput, "inputs of another loss");
    const std::span<int64_t> labels = inputs[0].tensor->values<int64_t>();
    const std::span<float> offsets = inputs[1].tensor->values<float>();
    const auto width = static_cast<double>(batch.images.shape()[3]);
    const auto height = static_cast<double>(batch.images.shape()[2]);
    const size_t priors = matcher->priors().size();
    std::vector<Object> objects;
    std::vector<Match> matches;
    for (size_t i = 0; i * priors < labels.size(); ++i) {
      objects.clear();
      for (const data::Box& box : batch.boxes[i]) {
        // Objects marked difficult are not learned, as VOC does not score them.
        if (!box.difficult) objects.push_back(object_of(box, width, height));
      }
      matcher->match(objects, matches);
      for (size_t p = 0; p < priors; ++p) {
        const Offsets& at = matches[p].offsets;
        labels[i * priors + p] = matches[p].label;
        float* row = offsets.data() + 4 * (i * priors + p);
        row[0] = at.x;
        row[1] = at.y;
        row[2] = at.width;
        row[3] = at.height;
      }
    }
  };
}

}  // namespace trainyard::detect
