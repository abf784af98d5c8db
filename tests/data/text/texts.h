// What tests of tokenizers share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/text/tokenizer.h"
#include "data/text/unicode.h"

namespace trainyard::data {

inline std::vector<TokenId> encoded(const Tokenizer& tokenizer, std::string_view text,
                                    WordCache* cache = nullptr) {
  std::vector<TokenId> tokens;
  tokenizer.encode(text, tokens, cache);
  return tokens;
}

// Words, spaces and characters of all kinds; every seed gives another text.
inline std::string random_text(uint64_t seed, int parts) {
  static const std::vector<std::string> kParts = {
      "the",    " fox",       "Dog's", "don'T", " ",   "  ",  "\n",     "\r\n",    "\t",
      " \n ",   "12",         "4567",  "...",   "!\n", "caf", "\u00e9", "\u4f60",  "\u0301",
      "\u3000", "\U0001f44d", "aB",    "Cd",    "'",   "/",   "\xff",   "\xe4\xbd"};
  const RandomStream random(seed);
  std::string text;
  for (int i = 0; i < parts; ++i) {
    const auto index = static_cast<uint64_t>(i);
    if (random.below(3 * index, 8) == 0) {
      const auto code = static_cast<uint32_t>(random.below(3 * index + 1, 0xd800));
      append_utf8(text, code);
    } else {
      text += kParts[random.below(3 * index + 2, kParts.size())];
    }
  }
  return text;
}

}  // namespace trainyard::data
