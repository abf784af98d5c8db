#include "train/span_evaluator.h"

#include <algorithm>

#include "base/error.h"
#include "train/top_k.h"

namespace trainyard::train {
namespace {

struct Span {
  size_t first = 0;
  size_t last = 0;
};

// In one walk: the best beginning so far goes with each end.
Span best_span(std::span<const float> begins, std::span<const float> ends) {
  Span best;
  size_t first = 0;
  for (size_t last = 0; last < ends.size(); ++last) {
    if (begins[last] > begins[first]) first = last;
    if (begins[first] + ends[last] > begins[best.first] + ends[best.last]) best = {first, last};
  }
  return best;
}

double overlap_f1(const Span& found, const Span& wanted) {
  const size_t first = std::max(found.first, wanted.first);
  const size_t last = std::min(found.last, wanted.last);
  if (last < first) return 0;
  const auto length = [](const Span& span) { return span.last - span.first + 1; };
  return 2 * static_cast<double>(last - first + 1) /
         static_cast<double>(length(found) + length(wanted));
}

class SpanEvaluator final : public Evaluator {
 public:
  explicit SpanEvaluator(int64_t length) : length_(static_cast<size_t>(length)) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> scores = outputs[0]->values<float>();
    const std::span<const int64_t> wanted = batch.spans.values<int64_t>();
    std::vector<float> begins(length_);
    std::vector<float> ends(length_);
    for (size_t row = 0; row < static_cast<size_t>(batch.valid); ++row) {
      for (size_t i = 0; i < length_; ++i) {
        begins[i] = scores[2 * (row * length_ + i)];
        ends[i] = scores[2 * (row * length_ + i) + 1];
      }
      const Span right{static_cast<size_t>(wanted[2 * row]),
                       static_cast<size_t>(wanted[2 * row + 1])};
      const Span found = best_span(begins, ends);
      sums_[kRows] += 1;
      sums_[kLoss] += (cross_entropy(begins, right.first) + cross_entropy(ends, right.last)) / 2;
      sums_[kExact] += found.first == right.first && found.last == right.last ? 1 : 0;
      sums_[kOverlap] += overlap_f1(found, right);
    }
  }

  Evaluation result() const override {
    const double rows = std::max(1.0, sums_[kRows]);
    Evaluation result;
    result.images = static_cast<int64_t>(sums_[kRows]);
    result.scores = {{.name = "loss", .value = sums_[kLoss] / rows},
                     {.name = "exact", .value = sums_[kExact] / rows, .is_share = true},
                     {.name = "f1", .value = sums_[kOverlap] / rows, .is_share = true}};
    result.decides = "f1";
    return result;
  }

  std::vector<double> sums() const override { return {sums_, sums_ + kCount}; }
  void set_sums(std::span<const double> sums) override {
    std::copy(sums.begin(), sums.end(), sums_);
  }

 private:
  enum Sum : size_t { kRows, kLoss, kExact, kOverlap, kCount };

  size_t length_;
  double sums_[kCount] = {};
};

}  // namespace

std::unique_ptr<Evaluator> make_span_test(const Graph& model) {
  const Value& scores = model.value(model.outputs()[0]);
  const Shape& shape = scores.type.shape;
  TY_REQUIRE(shape.rank() == 3 && shape[2] == 2,
             "output '{}' has shape {}, expected scores of spans: batch x length x 2", scores.name,
             shape.to_string());
  return std::make_unique<SpanEvaluator>(shape[1]);
}

}  // namespace trainyard::train
