// The tokens of words met before: texts repeat the same few thousand words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/merges.h"

namespace trainyard::data {

// Of one tokenizer and for one thread. Takes a few MB at most; when it is full, it keeps what it
// has.
class WordCache {
 public:
  WordCache();

  // Whether the word is known; then its tokens are appended.
  bool append(std::string_view word, std::vector<TokenId>& tokens) const;
  void remember(std::string_view word, std::span<const TokenId> tokens);

 private:
  struct Entry {
    uint32_t word = 0;  // where in words_
    uint32_t tokens = 0;
    uint16_t bytes = 0;  // 0: free
    uint16_t count = 0;
    uint32_t hash = 0;
  };
  const Entry* find(std::string_view word, uint64_t hash, size_t& place) const;

  std::vector<Entry> entries_;
  std::string words_;
  std::vector<TokenId> tokens_;
  size_t size_ = 0;
};

}  // namespace trainyard::data
