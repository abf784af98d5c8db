// Files of ranks as tiktoken reads them: a token in base 64 and its rank on each line.
#include <algorithm>

#include "base/base64.h"
#include "base/error.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/text/byte_bpe.h"

namespace trainyard::data {
namespace {

// Far above the longest of published files; bounds the work of finding the merges.
constexpr size_t kLongestToken = 1024;

struct RankLine {
  std::string token;
  int64_t rank = 0;
};

RankLine read_line(std::string_view line) {
  const size_t space = line.find(' ');
  TY_REQUIRE(space != std::string_view::npos,
             "expected a token in base 64, a space and a rank, found '{}'",
             printable_line(line.substr(0, 40)));
  RankLine result{from_base64(line.substr(0, space)), 0};
  const std::string_view number = line.substr(space + 1);
  const std::optional<int64_t> rank = parse_number<int64_t>(number);
  TY_REQUIRE(rank, "the rank '{}' is not a whole number", printable_line(number.substr(0, 40)));
  TY_REQUIRE(!result.token.empty() && result.token.size() <= kLongestToken,
             "the token has {} bytes, expected 1 to {}", result.token.size(), kLongestToken);
  result.rank = *rank;
  return result;
}

Vocabulary read_ranks(std::string_view text) {
  Vocabulary vocabulary;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    try {
      RankLine entry = read_line(line);
      TY_REQUIRE(!vocabulary.find(entry.token), "the token '{}' appears a second time",
                 printable_line(entry.token));
      vocabulary.add(entry.rank, std::move(entry.token));
    } catch (const Error& error) {
      throw_error("line {}: {}", number, error.what());
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char letter = static_cast<char>(byte);
    TY_REQUIRE(vocabulary.find({&letter, 1}), "byte 0x{:02x} is not among the tokens", byte);
  }
  return vocabulary;
}

// Every two tokens that make a third.
std::vector<std::pair<TokenId, TokenId>> merges_of(const Vocabulary& vocabulary) {
  std::vector<std::pair<TokenId, TokenId>> merges;
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view text = vocabulary.text(id);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const std::optional<TokenId> left = vocabulary.find(text.substr(0, cut));
      if (!left) continue;
      const std::optional<TokenId> right = vocabulary.find(text.substr(cut));
      if (right) merges.emplace_back(*left, *right);
    }
  }
  return merges;
}

// Where the published encodings of so many ranks have their end of text.
TokenId end_of(int64_t ranks) {
  constexpr int64_t kGaps[] = {100256, 199998};  // cl100k_base, o200k_base
  const bool gap = std::find(std::begin(kGaps), std::end(kGaps), ranks) != std::end(kGaps);
  return static_cast<TokenId>(ranks + static_cast<int64_t>(gap));
}

}  // namespace

std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, std::string_view pattern,
                                          std::string_view origin) {
  try {
    Vocabulary vocabulary = read_ranks(text);
    ByteBpeRules rules{.merges = merges_of(vocabulary),
                       .ranks_are_ids = true,
                       .splits = {rule_of_name(pattern)},
                       .whole_words = true};
    AddedTokens end({{.id = end_of(vocabulary.size()), .content = "<|endoftext|>"}});
    return std::make_unique<ByteBpe>(std::move(vocabulary), std::move(rules), std::move(end),
                                     TextFrame{});
  } catch (const Error& error) {
    throw_error("{}: neither a tokenizer.json nor ranks as tiktoken has them: {}", origin,
                error.what());
  }
}

std::string tiktoken_text(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const ByteBpe*>(&tokenizer);
  TY_REQUIRE(bpe != nullptr, "a file of ranks holds byte-level BPE, this tokenizer is {}",
             tokenizer.kind());
  TY_REQUIRE(!bpe->rules().prefix_space, "a file of ranks cannot say add_prefix_space");
  const Vocabulary& vocabulary = bpe->vocabulary();
  TokenId last = 0;
  for (const auto& [left, right] : bpe->rules().merges) {
    const TokenId result =
        *vocabulary.find(std::string(vocabulary.text(left)) + std::string(vocabulary.text(right)));
    TY_REQUIRE(result >= last,
               "the merges are not in the order of their tokens, of which a file of ranks makes "
               "them: token {} is merged after token {}",
               result, last);
    last = result;
  }
  std::string text;
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id) || bpe->added().by_id(static_cast<TokenId>(id)) != nullptr) continue;
    text += fmt::format("{} {}\n", to_base64(vocabulary.text(id)), id);
  }
  return text;
}

}  // namespace trainyard::data
