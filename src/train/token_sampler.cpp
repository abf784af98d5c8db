#include "train/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "engine/compiler.h"

namespace trainyard::train {
namespace {

runtime::Executable compile_for_sampling(Graph model, int threads) {
  const auto& inputs = model.inputs();
  TY_REQUIRE(inputs.size() == 1 && !model.outputs().empty(),
             "the network has {} inputs, expected one row of tokens", inputs.size());
  const TensorType& tokens = model.value(inputs[0]).type;
  const Shape& scores = model.value(model.outputs()[0]).type.shape;
  TY_REQUIRE(tokens.dtype == DType::kI64 && tokens.shape.rank() == 2 && tokens.shape[0] == 1 &&
                 scores.rank() == 3 && scores[1] == tokens.shape[1],
             "the network takes {} and gives {}; expected a row of tokens and scores of the next",
             tokens.to_string(), scores.to_string());
  runtime::CompileOptions options;
  options.threads = threads;
  return runtime::compile(std::move(model), options);
}

}  // namespace

int64_t choose_token(std::span<const float> scores, const SamplingOptions& options, uint64_t n) {
  const auto best = std::max_element(scores.begin(), scores.end());
  if (options.temperature == 0) return best - scores.begin();
  std::vector<int64_t> tokens(scores.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(tokens.size())) {
    // Of equals the lower token, whatever the library's algorithm.
    const auto before = [&](int64_t a, int64_t b) {
      const float x = scores[static_cast<size_t>(a)];
      const float y = scores[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    };
    std::nth_element(tokens.begin(), tokens.begin() + options.top_k, tokens.end(), before);
    tokens.resize(static_cast<size_t>(options.top_k));
    std::sort(tokens.begin(), tokens.end());
  }
  std::vector<double> sums(tokens.size());
  double sum = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const float score = scores[static_cast<size_t>(tokens[i])];
    sum += std::exp(static_cast<double>(score - *best) / options.temperature);
    sums[i] = sum;
  }
  const double drawn = sum * RandomStream(options.seed).uniform(n);
  const auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
  return tokens[std::min(static_cast<size_t>(found - sums.begin()), tokens.size() - 1)];
}

TokenSampler::TokenSampler(Graph model, int threads)
    : length_(0), vocabulary_(0), context_(compile_for_sampling(std::move(model), threads)) {
  length_ = context_.output(0).shape()[1];
  vocabulary_ = context_.output(0).shape()[2];
}

std::vector<int64_t> TokenSampler::follow(std::span<const int64_t> prompt, int64_t count,
                                          const SamplingOptions& options) {
  TY_REQUIRE(!prompt.empty(), "there is nothing to follow: the prompt is empty");
  std::vector<int64_t> all(prompt.begin(), prompt.end());
  for (const int64_t token : all) {
    TY_REQUIRE(0 <= token && token < vocabulary_,
               "token {} of the prompt is outside the network's vocabulary of {}", token,
               vocabulary_);
  }
  const Stopwatch watch;
  for (int64_t i = 0; i < count; ++i) {
    if (options.seconds > 0 && watch.seconds() > options.seconds) break;
    const auto known =
        static_cast<size_t>(std::min<int64_t>(length_, static_cast<int64_t>(all.size())));
    // What stands behind the text is not seen by any token of it.
    const std::span<int64_t> row = context_.input(0).values<int64_t>();
    std::fill(row.begin(), row.end(), 0);
    std::copy(all.end() - static_cast<ptrdiff_t>(known), all.end(), row.begin());
    context_.run();
    const std::span<const float> scores = context_.output(0).values<float>().subspan(
        (known - 1) * static_cast<size_t>(vocabulary_), static_cast<size_t>(vocabulary_));
    all.push_back(choose_token(scores, options, static_cast<uint64_t>(i)));
  }
  all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(prompt.size()));
  return all;
}

}  // namespace trainyard::train
