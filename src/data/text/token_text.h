// What tokens say, for people: texts where the tokenizer is known, else their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/tokenizer.h"
#include "data/text/tokens.h"

namespace trainyard::data {

class TokenText {
 public:
  // `tokenizer` is a file, kByteTokens, or empty. Throws Error for a file that cannot be read.
  explicit TokenText(const std::string& tokenizer);
  explicit TokenText(const TokenFacts& facts);

  // Whether tokens are shown as a text.
  bool knows_text() const { return tokenizer_ != nullptr; }
  // Bytes, which may end within a character; or numbers with spaces between them.
  std::string decode(std::span<const int64_t> tokens) const;
  // Throws Error for what is no list of numbers where tokens have no text.
  std::vector<int64_t> encode(std::string_view text) const;

 private:
  std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace trainyard::data
