#include "data/text/token_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "data/numbers.h"
#include "data/text/token_set.h"

namespace trainyard::data {
namespace {

// Between spaces and commas.
std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> numbers;
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != ' ' && text[i] != ',') {
      word += text[i];
      continue;
    }
    if (!word.empty()) {
      numbers.push_back(parse_whole(word, 0, INT32_MAX,
                                    "the text (there is no tokenizer, so it is a list of tokens)"));
    }
    word.clear();
  }
  return numbers;
}

}  // namespace

TokenText::TokenText(std::string tokenizer) : tokenizer_(std::move(tokenizer)) {
  TY_REQUIRE(tokenizer_.empty() || tokenizer_ == kByteTokens,
             "the tokenizer '{}' is not known here, expected bytes", tokenizer_);
}

std::string TokenText::decode(std::span<const int64_t> tokens) const {
  if (!knows_text()) return fmt::format("{}", fmt::join(tokens, " "));
  std::string text;
  for (const int64_t token : tokens) text += static_cast<char>(token);
  return text;
}

std::vector<int64_t> TokenText::encode(std::string_view text) const {
  if (!knows_text()) return numbers_in(text);
  std::vector<int64_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

}  // namespace trainyard::data
