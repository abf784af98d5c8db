// Learns the merges of byte-level byte-pair encoding from texts: again and again, the pair of
// tokens that stands beside each other most often becomes a token.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/split.h"
#include "data/text/tokenizer.h"

namespace trainyard::data {

struct BpeTraining {
  int64_t vocabulary = 8192;  // tokens, those of the 256 bytes and the special ones among them
  int64_t least_count = 2;    // pairs that stand together less often are not merged
  SplitRule split = SplitRule::kGpt2;
  std::vector<std::string> specials = {"<|endoftext|>"};  // the last ids
  int64_t threads = 1;
};

// With what is being done and the share of it that is.
using TrainingProgress = std::function<void(std::string_view, double)>;

// Equal counts are decided by the ids of the tokens, the lower first, as the Hugging Face trainer
// does. The result has fewer tokens where the texts have no more pairs. Throws Error for a
// vocabulary that does not hold the bytes, and for texts without a word.
std::unique_ptr<Tokenizer> train_bpe(std::span<const std::string_view> texts,
                                     const BpeTraining& training,
                                     const TrainingProgress& progress = {});

}  // namespace trainyard::data
