// Texts that a language model writes, token by token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/executable.h"
#include "ir/graph.h"

namespace trainyard::train {

struct SamplingOptions {
  double temperature = 1;  // scores are divided by it; 0: always the likeliest token
  int64_t top_k = 0;       // only of the likeliest; 0: of all
  uint64_t seed = 1;       // the same choices for the same scores
  double seconds = 0;      // no further token after so many; 0: no limit
};

// Not for several threads.
class TokenSampler {
 public:
  // The network reads one row of tokens, 1 x length, and gives scores of the next, 1 x length x
  // vocabulary. Throws Error for another.
  TokenSampler(Graph model, int threads);

  int64_t length() const { return length_; }
  int64_t vocabulary() const { return vocabulary_; }
  // `count` tokens that follow the prompt, which is not empty; of a text longer than a row the last
  // tokens are read. Throws Error for a token outside of the vocabulary.
  std::vector<int64_t> follow(std::span<const int64_t> prompt, int64_t count,
                              const SamplingOptions& options);

 private:
  int64_t length_;
  int64_t vocabulary_;
  runtime::ExecutionContext context_;
};

// One of `scores`, by the n-th number of the options' seed.
int64_t choose_token(std::span<const float> scores, const SamplingOptions& options, uint64_t n);

}  // namespace trainyard::train
