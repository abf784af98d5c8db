#include "train/top_k.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::train {
namespace {

constexpr int64_t kTop = 5;

class TopK final : public Evaluator {
 public:
  TopK(int64_t classes, bool with_loss)
      : classes_(static_cast<size_t>(classes)),
        with_loss_(with_loss),
        confusion_(static_cast<size_t>(classes * classes), 0) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> scores = outputs[0]->values<float>();
    for (size_t i = 0; i < static_cast<size_t>(batch.valid); ++i) {
      const int64_t truth = batch.labels.values<int64_t>()[i];
      const size_t guess = add_image(scores.subspan(i * classes_, classes_), truth);
      if (i >= batch.origins.size()) continue;  // made by hand
      guesses_.push_back({batch.origins[i].sample, truth, static_cast<int64_t>(guess)});
    }
  }

  Evaluation result() const override {
    const auto images = static_cast<double>(std::max<int64_t>(1, images_));
    Evaluation result;
    result.images = images_;
    if (with_loss_) result.scores.push_back({.name = "loss", .value = loss_ / images});
    result.scores.push_back(
        {.name = "top1", .value = static_cast<double>(top1_) / images, .is_share = true});
    result.scores.push_back(
        {.name = "top5", .value = static_cast<double>(top5_) / images, .is_share = true});
    result.decides = "top1";
    result.classes = static_cast<int64_t>(classes_);
    result.confusion = confusion_;
    result.guesses = guesses_;
    return result;
  }

  std::vector<double> sums() const override {
    std::vector<double> sums = {loss_, static_cast<double>(top1_), static_cast<double>(top5_),
                                static_cast<double>(images_)};
    sums.insert(sums.end(), confusion_.begin(), confusion_.end());
    return sums;
  }

  void set_sums(std::span<const double> sums) override {
    const auto count = [](double value) { return static_cast<int64_t>(value); };
    loss_ = sums[0];
    top1_ = count(sums[1]);
    top5_ = count(sums[2]);
    images_ = count(sums[3]);
    std::ranges::transform(sums.subspan(4), confusion_.begin(), count);
  }

 private:
  // What the image is taken for.
  size_t add_image(std::span<const float> row, int64_t truth) {
    TY_REQUIRE(0 <= truth && truth < static_cast<int64_t>(classes_),
               "label {} is outside the network's {} classes", truth, classes_);
    const auto label = static_cast<size_t>(truth);
    // A tie goes to the lower class, as in ArgMax.
    const auto before = [&](size_t other) {
      return row[other] > row[label] || (row[other] == row[label] && other < label);
    };
    int64_t better = 0;
    size_t guess = 0;
    for (size_t c = 0; c < classes_; ++c) {
      if (c != label && before(c)) ++better;
      if (row[c] > row[guess]) guess = c;
    }
    loss_ += cross_entropy(row, label);
    top1_ += guess == label ? 1 : 0;
    top5_ += better < kTop ? 1 : 0;
    confusion_[label * classes_ + guess] += 1;
    images_ += 1;
    return guess;
  }

  size_t classes_;
  bool with_loss_;
  double loss_ = 0;
  int64_t top1_ = 0;
  int64_t top5_ = 0;
  int64_t images_ = 0;
  std::vector<int64_t> confusion_;
  std::vector<runs::SamplePrediction> guesses_;
};

}  // namespace

double cross_entropy(std::span<const float> scores, size_t label) {
  const double largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest);
  return std::log(sum) + largest - static_cast<double>(scores[label]);
}

std::unique_ptr<Evaluator> make_top_k(const Graph& model, bool with_loss) {
  const Value& scores = model.value(model.outputs()[0]);
  TY_REQUIRE(scores.type.shape.rank() == 2, "output '{}' has shape {}, expected images x classes",
             scores.name, scores.type.shape.to_string());
  return std::make_unique<TopK>(scores.type.shape[1], with_loss);
}

}  // namespace trainyard::train
