// Texts cut into the pieces that are tokenized one by one. The regular expressions that published
// tokenizers cut with are written out by hand, so that no pattern from a file is ever run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::data {

enum class SplitRule : uint8_t {
  kGpt2,        // words with the space before them, numbers, the rest; contractions of English
  kLlama3,      // the same in either case, numbers of three digits, line breaks kept together
  kCl100k,      // the same, with white space at the very end in one piece
  kQwen2,       // as Llama 3, numbers of one digit
  kO200k,       // as Llama 3, cut where a small letter is followed by a capital
  kWhitespace,  // words (\w+) and runs of other characters, without white space
  kSpaces,      // what stands between white space
  kBert,        // the same, each punctuation mark for itself
};

struct SplitPattern {
  SplitRule rule;
  // What people call it, with the regular expression of files; or, where that is empty, what files
  // call it.
  std::string_view name;
  std::string_view regex;
};
// Several of one rule are spelled differently and mean the same; the first is what is written.
std::span<const SplitPattern> split_patterns();
// No value: none of those.
std::optional<SplitRule> rule_of_regex(std::string_view regex);
// Throws Error with the names there are, of those with a regular expression.
SplitRule rule_of_name(std::string_view name);
const SplitPattern& pattern_of(SplitRule rule);

// As a pre-tokenizer of tokenizer.json.
Json split_json(SplitRule rule);
// Several of them one after the other; null for none.
Json sequence_json(Json::Array pre_tokenizers);

struct TextPiece {
  size_t end = 0;    // after `from`
  bool kept = true;  // white space of rules that leave it out is not
};
// The piece of the text that begins at `from`, which is below its size. Looks at nothing before it.
TextPiece next_piece(SplitRule rule, std::string_view text, size_t from);

// A place at or after `from` where every rule ends a piece, so that both sides may be cut on their
// own: between an ASCII letter or digit and a space or line break. The size of the text if none.
size_t cut_place(std::string_view text, size_t from);
}  // namespace trainyard::data
