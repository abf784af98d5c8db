#include "detect/evaluator.h"

#include <algorithm>

#include "base/error.h"
#include "detect/coco_scoring.h"

namespace trainyard::detect {
namespace {

// Numbers that a truth or a detection takes on its way between workers.
constexpr size_t kRecord = 7;

class DetectionEvaluator final : public train::Evaluator {
 public:
  DetectionEvaluator(int64_t classes, DetectionTest* seen, std::vector<int64_t> numbers)
      : classes_(classes), seen_(seen), numbers_(std::move(numbers)) {}

  // Outputs: boxes, scores and which of them are selected.
  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    for (size_t i = 0; i < static_cast<size_t>(batch.valid); ++i) add_truths(batch, i);
    const Shape& scores = outputs[1]->shape();
    const std::span<const int64_t> selected = outputs[2]->values<int64_t>();
    for (size_t row = 0; row + 2 < selected.size(); row += 3) {
      const int64_t place = selected[row];
      if (place >= batch.valid) continue;
      const int64_t label = selected[row + 1];
      const int64_t number = numbers_.empty() ? label : numbers_[static_cast<size_t>(label)];
      if (number < 0) continue;
      const int64_t prior = selected[row + 2];
      const data::Origin& origin = batch.origins[static_cast<size_t>(place)];
      const float* box = outputs[0]->values<float>().data() + 4 * (place * scores[2] + prior);
      const float score = outputs[1]->values<float>()[static_cast<size_t>(
          (place * scores[1] + label) * scores[2] + prior)];
      test_.detections.push_back({.picture = origin.sample,
                                  .label = number,
                                  .score = static_cast<double>(score),
                                  .region = in_pixels(box, origin.shape)});
    }
  }

  train::Evaluation result() const override {
    const VocResult voc = score_voc(test_.truths, test_.detections, classes_, {});
    const CocoResult coco = score_coco(test_.truths, test_.detections, classes_);
    train::Evaluation result;
    result.images = static_cast<int64_t>(test_.pictures.size());
    const auto add = [&](const char* name, std::optional<double> value) {
      result.scores.push_back({.name = name, .value = value.value_or(0), .is_share = true});
    };
    add("map", voc.eleven_point);
    add("map_every_point", voc.every_point);
    add("map_50_95", coco.average);
    result.decides = "map";
    if (seen_ != nullptr) *seen_ = test_;
    return result;
  }

  std::vector<double> sums() const override {
    std::vector<double> all = {static_cast<double>(test_.pictures.size()),
                               static_cast<double>(test_.truths.size()),
                               static_cast<double>(test_.detections.size())};
    for (const int64_t picture : test_.pictures) all.push_back(static_cast<double>(picture));
    const auto put = [&](int64_t picture, int64_t label, double extra, const Region& r) {
      all.insert(all.end(), {static_cast<double>(picture), static_cast<double>(label), extra,
                             r.left, r.top, r.right, r.bottom});
    };
    for (const Truth& t : test_.truths) put(t.picture, t.label, t.difficult ? 1 : 0, t.region);
    for (const Detection& d : test_.detections) put(d.picture, d.label, d.score, d.region);
    return all;
  }

  // Any number of sums() one after the other.
  void set_sums(std::span<const double> sums) override {
    test_ = {};
    while (!sums.empty()) sums = append_part(sums);
  }

  void combine(const train::TestTeam& team) override { set_sums(train::gather(team, sums())); }

 private:
  void add_truths(const data::Batch& batch, size_t place) {
    const data::Origin& origin = batch.origins[place];
    const auto width = static_cast<float>(batch.images.shape()[3]);
    const auto height = static_cast<float>(batch.images.shape()[2]);
    test_.pictures.push_back(origin.sample);
    for (const data::Box& box : batch.boxes[place]) {
      const float shares[] = {box.left / width, box.top / height, box.right / width,
                              box.bottom / height};
      TY_REQUIRE(box.label < classes_, "class {} is outside the network's {} classes", box.label,
                 classes_);
      test_.truths.push_back({.picture = origin.sample,
                              .label = box.label,
                              .region = in_pixels(shares, origin.shape),
                              .difficult = box.difficult});
    }
  }

  static Region in_pixels(const float* shares, const data::PictureShape& shape) {
    const auto width = static_cast<double>(shape.width);
    const auto height = static_cast<double>(shape.height);
    const auto cut = [](float share, double side) {
      return std::clamp(static_cast<double>(share) * side, 0.0, side);
    };
    return {cut(shares[0], width), cut(shares[1], height), cut(shares[2], width),
            cut(shares[3], height)};
  }

  // Takes one worker's numbers and returns the rest.
  std::span<const double> append_part(std::span<const double> sums) {
    const auto pictures = static_cast<size_t>(sums[0]);
    const auto truths = static_cast<size_t>(sums[1]);
    const auto detections = static_cast<size_t>(sums[2]);
    sums = sums.subspan(3);
    for (size_t i = 0; i < pictures; ++i) {
      test_.pictures.push_back(static_cast<int64_t>(sums[i]));
    }
    sums = sums.subspan(pictures);
    const auto region = [](std::span<const double> r) { return Region{r[3], r[4], r[5], r[6]}; };
    for (size_t i = 0; i < truths; ++i, sums = sums.subspan(kRecord)) {
      test_.truths.push_back({.picture = static_cast<int64_t>(sums[0]),
                              .label = static_cast<int64_t>(sums[1]),
                              .region = region(sums),
                              .difficult = sums[2] != 0});
    }
    for (size_t i = 0; i < detections; ++i, sums = sums.subspan(kRecord)) {
      test_.detections.push_back({.picture = static_cast<int64_t>(sums[0]),
                                  .label = static_cast<int64_t>(sums[1]),
                                  .score = sums[2],
                                  .region = region(sums)});
    }
    return sums;
  }

  int64_t classes_;
  DetectionTest* seen_;
  std::vector<int64_t> numbers_;
  DetectionTest test_;
};

}  // namespace

std::unique_ptr<train::Evaluator> make_detection_evaluator(Graph& model,
                                                           std::span<const PriorShape> shapes,
                                                           int64_t classes, DetectionTest* seen,
                                                           std::vector<int64_t> numbers) {
  const std::vector<Prior> priors = priors_of(model, shapes);
  const int64_t own = model.value(model.outputs()[1]).type.shape[2] - 1;
  TY_REQUIRE(!numbers.empty() || own >= classes, "the network knows {} classes, the data has {}",
             own, classes);
  TY_REQUIRE(numbers.empty() || own == static_cast<int64_t>(numbers.size()),
             "the network knows {} classes, but there are names of {}", own, numbers.size());
  ops::Builder builder(model);
  const DecodedBoxes decoded = add_decoder(builder, model.outputs()[0], model.outputs()[1], priors);
  const SelectedBoxes all = add_suppression(builder, decoded, {});
  model.set_outputs({all.boxes, all.scores, all.selected});
  return std::make_unique<DetectionEvaluator>(numbers.empty() ? own : classes, seen,
                                              std::move(numbers));
}

}  // namespace trainyard::detect
