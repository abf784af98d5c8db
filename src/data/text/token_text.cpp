#include "data/text/token_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/numbers.h"
#include "data/text/encode_texts.h"

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

TokenText::TokenText(const std::string& tokenizer) {
  if (!tokenizer.empty()) tokenizer_ = open_tokenizer(tokenizer);
}

TokenText::TokenText(const TokenFacts& facts)
    : TokenText(facts.tokenizer_json.empty() ? facts.tokenizer : "") {
  if (!facts.tokenizer_json.empty()) {
    tokenizer_ = parse_tokenizer_json(facts.tokenizer_json, facts.tokenizer);
  }
}

std::string TokenText::decode(std::span<const int64_t> tokens) const {
  if (!knows_text()) return fmt::format("{}", fmt::join(tokens, " "));
  std::vector<TokenId> known;
  for (const int64_t token : tokens) {
    // A network may have rows for more tokens than there are, as for the one that hides others.
    if (tokenizer_->token_text(token)) known.push_back(static_cast<TokenId>(token));
  }
  return tokenizer_->decode(known);
}

std::vector<int64_t> TokenText::encode(std::string_view text) const {
  if (!knows_text()) return numbers_in(text);
  std::vector<TokenId> tokens;
  tokenizer_->encode(text, tokens);
  return {tokens.begin(), tokens.end()};
}

}  // namespace trainyard::data
