#include "train/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "train/objectives/outputs.h"
#include "train/top_k.h"

namespace trainyard::train {
namespace {

struct ConfidenceBin {
  double images = 0;
  double correct = 0;
  double probability = 0;  // sum over the images
};

class Calibration final : public Evaluator {
 public:
  explicit Calibration(int64_t classes) : classes_(static_cast<size_t>(classes)) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> scores = outputs[0]->values<float>();
    for (size_t i = 0; i < static_cast<size_t>(batch.valid); ++i) {
      add_image(scores.subspan(i * classes_, classes_), batch.labels.values<int64_t>()[i]);
    }
  }

  Evaluation result() const override {
    double images = 0;
    double apart = 0;
    for (const ConfidenceBin& bin : bins_) {
      images += bin.images;
      // |accuracy - probability| of the bin, times its images.
      apart += std::fabs(bin.correct - bin.probability);
    }
    Evaluation result;
    result.images = static_cast<int64_t>(images);
    result.scores.push_back(
        {.name = "calibration_error", .value = apart / std::max(1.0, images), .is_share = true});
    result.decides = "calibration_error";
    result.higher_is_better = false;
    return result;
  }

  std::vector<double> sums() const override {
    std::vector<double> sums;
    for (const ConfidenceBin& bin : bins_) {
      sums.insert(sums.end(), {bin.images, bin.correct, bin.probability});
    }
    return sums;
  }

  void set_sums(std::span<const double> sums) override {
    for (size_t i = 0; i < bins_.size(); ++i) {
      bins_[i] = {sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
    }
  }

 private:
  void add_image(std::span<const float> row, int64_t truth) {
    const auto guess = std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float score : row) sum += std::exp(static_cast<double>(score - *guess));
    const double probability = 1 / sum;
    // A probability on the edge belongs to the bin below it; so does 1. Scores that are no numbers
    // have none, and are wrong with certainty.
    const double place = std::ceil(probability * static_cast<double>(kCalibrationBins)) - 1;
    const bool known = std::isfinite(place);
    ConfidenceBin& bin =
        bins_[known ? std::min(static_cast<size_t>(std::max(place, 0.0)), kCalibrationBins - 1)
                    : kCalibrationBins - 1];
    bin.images += 1;
    bin.correct += known && guess - row.begin() == truth ? 1 : 0;
    bin.probability += known ? probability : 1;
  }

  size_t classes_;
  std::array<ConfidenceBin, kCalibrationBins> bins_;
};

}  // namespace

std::unique_ptr<Evaluator> make_calibration(const Graph& model) {
  const ValueId scores = class_scores(model, model.outputs()[0]);
  return std::make_unique<Calibration>(model.value(scores).type.shape[1]);
}

std::unique_ptr<Evaluator> make_classifier_test(Graph& model) {
  model.set_outputs({class_scores(model, model.outputs()[0])});
  std::vector<std::unique_ptr<Evaluator>> parts;
  parts.push_back(make_top_k(model, /*with_loss=*/true));
  parts.push_back(make_calibration(model));
  return join_evaluators(std::move(parts));
}

}  // namespace trainyard::train
