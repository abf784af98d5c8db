// What tokens say, for people: texts where the tokenizer is known, else their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

class TokenText {
 public:
  // `tokenizer` is that of TokenFacts: kByteTokens, or empty. Throws Error for another.
  explicit TokenText(std::string tokenizer);

  // Whether tokens are shown as a text.
  bool knows_text() const { return !tokenizer_.empty(); }
  // Bytes, which may end within a character; or numbers with spaces between them.
  std::string decode(std::span<const int64_t> tokens) const;
  // Throws Error for what is no list of numbers where tokens have no text.
  std::vector<int64_t> encode(std::string_view text) const;

 private:
  std::string tokenizer_;
};

}  // namespace trainyard::data
