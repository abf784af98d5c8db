// How often each word stands in texts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/text/split.h"

namespace trainyard::data {

struct WordCount {
  std::string_view word;  // in the texts
  int64_t count = 0;
};

// Called by one thread at a time, with the share that is done.
using ShareDone = std::function<void(double)>;

// The different pieces of the texts, sorted. Counted by so many threads; the result does not depend
// on how many.
std::vector<WordCount> count_words(std::span<const std::string_view> texts, SplitRule rule,
                                   int64_t threads, const ShareDone& done = {});

// The texts in parts of about that many bytes, cut where every rule ends a piece.
std::vector<std::string_view> cut_texts(std::span<const std::string_view> texts, size_t bytes);

}  // namespace trainyard::data
