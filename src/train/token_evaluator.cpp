#include "train/token_evaluator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "engine/kernels/parallel/parallel.h"
#include "train/top_k.h"

namespace trainyard::train {
namespace {

class TokenEvaluator final : public Evaluator {
 public:
  TokenEvaluator(int64_t length, int64_t vocabulary, double bytes_per_token)
      : length_(static_cast<size_t>(length)),
        vocabulary_(static_cast<size_t>(vocabulary)),
        bytes_per_token_(bytes_per_token) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    const std::span<const float> scores = outputs[0]->values<float>();
    const std::span<const int64_t> wanted = batch.next.values<int64_t>();
    const size_t rows = static_cast<size_t>(batch.valid) * length_;
    losses_.assign(rows, 0);
    for (size_t i = 0; i < rows; ++i) {
      TY_REQUIRE(wanted[i] < static_cast<int64_t>(vocabulary_),
                 "token {} is outside the network's vocabulary of {}", wanted[i], vocabulary_);
    }
    kernels::parallel_for(static_cast<int64_t>(rows), [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        if (wanted[i] < 0) continue;
        losses_[i] = cross_entropy(scores.subspan(i * vocabulary_, vocabulary_),
                                   static_cast<size_t>(wanted[i]));
      }
    });
    // In order, so that the sum does not depend on threads.
    for (const double loss : losses_) sums_[kLoss] += loss;
    sums_[kTokens] +=
        static_cast<double>(rows) -
        static_cast<double>(std::count(
            wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(rows), data::kNoLabel));
    sums_[kSamples] += static_cast<double>(batch.valid);
  }

  Evaluation result() const override {
    const double loss = sums_[kLoss] / std::max(1.0, sums_[kTokens]);
    Evaluation result;
    result.images = static_cast<int64_t>(sums_[kSamples]);
    result.scores = {{.name = "loss", .value = loss},
                     {.name = "perplexity", .value = std::exp(loss)}};
    if (bytes_per_token_ > 0) {
      result.scores.push_back(
          {.name = "bits_per_byte", .value = loss / std::numbers::ln2 / bytes_per_token_});
    }
    result.decides = "loss";
    result.higher_is_better = false;
    return result;
  }

  std::vector<double> sums() const override { return {sums_, sums_ + kCount}; }
  void set_sums(std::span<const double> sums) override {
    std::copy(sums.begin(), sums.end(), sums_);
  }

 private:
  enum Sum : size_t { kLoss, kTokens, kSamples, kCount };

  size_t length_;
  size_t vocabulary_;
  double bytes_per_token_;
  double sums_[kCount] = {};
  std::vector<double> losses_;  // of a batch
};

}  // namespace

std::unique_ptr<Evaluator> make_token_evaluator(const Graph& model, double bytes_per_token) {
  const Value& scores = model.value(model.outputs()[0]);
  TY_REQUIRE(scores.type.shape.rank() == 3,
             "output '{}' has shape {}, expected scores of tokens: batch x length x vocabulary",
             scores.name, scores.type.shape.to_string());
  return std::make_unique<TokenEvaluator>(scores.type.shape[1], scores.type.shape[2],
                                          bytes_per_token);
}

}  // namespace trainyard::train
