#include "train/number_evaluator.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/feed.h"
#include "train/loss_evaluator.h"

namespace trainyard::train {
namespace {

class NumberEvaluator final : public Evaluator {
 public:
  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> given = outputs[0]->values<float>();
    const std::span<const float> wanted = batch.numbers.values<float>();
    for (size_t i = 0; i < static_cast<size_t>(batch.valid); ++i) {
      const double number = static_cast<double>(wanted[i]);
      const double error = static_cast<double>(given[i]) - number;
      sums_[kRows] += 1;
      sums_[kSquares] += error * error;
      sums_[kNumbers] += number;
      sums_[kNumberSquares] += number * number;
    }
  }

  Evaluation result() const override {
    const double rows = std::max(1.0, sums_[kRows]);
    const double mean = sums_[kNumbers] / rows;
    const double variance = sums_[kNumberSquares] / rows - mean * mean;
    Evaluation result;
    result.images = static_cast<int64_t>(sums_[kRows]);
    result.scores = {{.name = "rmse", .value = std::sqrt(sums_[kSquares] / rows)}};
    // What is below this is rounding.
    constexpr double kLeastShare = 1e-12;
    if (variance > kLeastShare * mean * mean) {
      result.scores.push_back({.name = "r2", .value = 1 - sums_[kSquares] / rows / variance});
    }
    return result;
  }

  std::vector<double> sums() const override { return {sums_, sums_ + kCount}; }
  void set_sums(std::span<const double> sums) override {
    std::copy(sums.begin(), sums.end(), sums_);
  }

 private:
  enum Sum : size_t { kRows, kSquares, kNumbers, kNumberSquares, kCount };

  double sums_[kCount] = {};
};

}  // namespace

std::unique_ptr<Evaluator> make_number_test(Graph& model, const Objective& objective) {
  const Value& output = model.value(model.outputs()[0]);
  const Shape& shape = output.type.shape;
  TY_REQUIRE(
      output.type.dtype == DType::kF32 && shape.rank() >= 1 && shape.num_elements() == shape[0],
      "output '{}' is {}, expected one number for each row", output.name, output.type.to_string());
  std::vector<std::unique_ptr<Evaluator>> parts;
  parts.push_back(make_loss_evaluator(model, objective, feed_classes));
  parts.push_back(std::make_unique<NumberEvaluator>());
  return join_evaluators(std::move(parts));
}

}  // namespace trainyard::train
