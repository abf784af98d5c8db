#include "data/text/split.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/text/unicode.h"

namespace trainyard::data {
namespace {

constexpr std::array kPatterns = {
    SplitPattern{SplitRule::kGpt2, "gpt2",
                 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    SplitPattern{SplitRule::kGpt2, "gpt2",
                 R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    SplitPattern{SplitRule::kLlama3, "llama3",
                 R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    SplitPattern{SplitRule::kCl100k, "cl100k",
                 R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|)"
                 R"( ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)"},
    SplitPattern{SplitRule::kQwen2, "qwen2",
                 R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    SplitPattern{SplitRule::kO200k, "o200k",
                 R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
                 R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
                 R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
                 R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    SplitPattern{SplitRule::kWhitespace, "Whitespace", ""},
    SplitPattern{SplitRule::kSpaces, "WhitespaceSplit", ""},
    SplitPattern{SplitRule::kBert, "BertPreTokenizer", ""},
};

constexpr CategorySet kCapitals =
    set_of({Category::kLu, Category::kLt, Category::kLm, Category::kLo, Category::kMc,
            Category::kMe, Category::kMn});
constexpr CategorySet kSmall = set_of(
    {Category::kLl, Category::kLm, Category::kLo, Category::kMc, Category::kMe, Category::kMn});
// What [^\s\p{L}\p{N}] leaves out.
constexpr CategorySet kNotOther = kWhiteSpace | kLetters | kNumbers;

// Reads a text character by character.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), categories_(Categories::get()) {}

  bool ends(size_t at) const { return at >= text_.size(); }
  // The category of the character there, an empty set at the end; `bytes` is how long it is.
  CategorySet set_at(size_t at, size_t& bytes) const {
    bytes = 1;
    if (ends(at)) return 0;
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return categories_.of_byte(byte);
    const Character character = character_at(text_, at);
    bytes = character.bytes;
    return categories_.of(character.code);
  }
  bool is(size_t at, CategorySet set) const {
    size_t bytes = 0;
    return (set_at(at, bytes) & set) != 0;
  }
  // Behind the characters of the set, at most so many.
  size_t run(size_t at, CategorySet set, size_t most = SIZE_MAX) const {
    size_t bytes = 0;
    for (; most > 0 && (set_at(at, bytes) & set) != 0; --most) at += bytes;
    return at;
  }
  char letter(size_t at) const { return ends(at) ? '\0' : text_[at]; }
  bool is_line_break(size_t at) const { return letter(at) == '\n' || letter(at) == '\r'; }
  size_t line_breaks(size_t at) const {
    while (is_line_break(at)) ++at;
    return at;
  }

 private:
  std::string_view text_;
  const Categories& categories_;
};

// 's, 't, 're, 've, 'm, 'll and 'd at `at`: where it ends, or `at`.
size_t contraction(const Reader& text, size_t at, bool any_case) {
  if (text.letter(at) != '\'') return at;
  const auto small = [&](size_t place) {
    const char c = text.letter(place);
    return any_case && 'A' <= c && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  const char first = small(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const char second = small(at + 2);
  const bool two =
      ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
  if (two) return at + 3;
  // The long s is an s to those who ignore case.
  const bool long_s = any_case && text.letter(at + 1) == '\xc5' && text.letter(at + 2) == '\xbf';
  return long_s ? at + 3 : at;
}

// \s+(?!\S)|\s+ : all of it at the end of the text, else all but the last character, which belongs
// to what follows if it is a space.
size_t white_space(const Reader& text, size_t from) {
  size_t at = from;
  size_t last = from;
  size_t bytes = 0;
  while ((text.set_at(at, bytes) & kWhiteSpace) != 0) {
    last = at;
    at += bytes;
  }
  return text.ends(at) || last == from ? at : last;
}

size_t gpt2(const Reader& text, size_t from) {
  if (const size_t end = contraction(text, from, /*any_case=*/false); end != from) return end;
  const size_t at = text.letter(from) == ' ' ? from + 1 : from;
  for (const CategorySet set : {kLetters, kNumbers, ~kNotOther}) {
    if (const size_t end = text.run(at, set); end != at) return end;
  }
  return white_space(text, from);
}

// \s*[\r\n]+ : to the last line break of the white space, or `from`.
size_t to_last_line_break(const Reader& text, size_t from) {
  size_t end = from;
  size_t bytes = 0;
  for (size_t at = from; (text.set_at(at, bytes) & kWhiteSpace) != 0; at += bytes) {
    if (text.is_line_break(at)) end = at + 1;
  }
  return end;
}

// What Llama 3 and those after it have in common, behind words.
size_t numbers_and_rest(const Reader& text, size_t from, size_t digits) {
  if (const size_t end = text.run(from, kNumbers, digits); end != from) return end;
  const size_t at = text.letter(from) == ' ' ? from + 1 : from;
  if (const size_t end = text.run(at, ~kNotOther); end != at) return text.line_breaks(end);
  if (const size_t end = to_last_line_break(text, from); end != from) return end;
  return white_space(text, from);
}

// Where letters may begin: behind one character that is neither a letter nor a number nor a line
// break, or at `from`.
size_t behind_lead(const Reader& text, size_t from) {
  size_t bytes = 0;
  const CategorySet set = text.set_at(from, bytes);
  return (set & (kLetters | kNumbers)) != 0 || text.is_line_break(from) ? from : from + bytes;
}

size_t llama3(const Reader& text, size_t from, size_t digits) {
  if (const size_t end = contraction(text, from, /*any_case=*/true); end != from) return end;
  const size_t word = behind_lead(text, from);
  if (const size_t end = text.run(word, kLetters); end != word) return end;
  return numbers_and_rest(text, from, digits);
}

size_t cl100k(const Reader& text, size_t from) {
  if (const size_t end = text.run(from, kWhiteSpace); end != from && text.ends(end)) return end;
  return llama3(text, from, 3);
}

// [capitals]*[small]+ from `from`, whose first part gives back what the second needs: where it
// ends, or `from`.
size_t capitals_and_small(const Reader& text, size_t from) {
  size_t last_shared = SIZE_MAX;  // the last character of the run that may be either
  size_t at = from;
  size_t bytes = 0;
  for (CategorySet set = 0; ((set = text.set_at(at, bytes)) & kCapitals) != 0; at += bytes) {
    if ((set & kSmall) != 0) last_shared = at + bytes;
  }
  if (const size_t end = text.run(at, kSmall); end != at) return end;
  return last_shared == SIZE_MAX ? from : last_shared;
}

size_t o200k_word(const Reader& text, size_t from) {
  const size_t word = behind_lead(text, from);
  // A mark may be the character in front of a word or the first of it.
  for (const size_t begin : {word, from}) {
    if (const size_t end = capitals_and_small(text, begin); end != begin) return end;
  }
  // [capitals]+[small]* : no small letter follows where the above matched nothing.
  for (const size_t begin : {word, from}) {
    if (const size_t end = text.run(begin, kCapitals); end != begin) return end;
  }
  return from;
}

size_t o200k(const Reader& text, size_t from) {
  if (const size_t end = o200k_word(text, from); end != from) {
    return contraction(text, end, /*any_case=*/true);
  }
  if (const size_t end = text.run(from, kNumbers, 3); end != from) return end;
  const size_t at = text.letter(from) == ' ' ? from + 1 : from;
  if (size_t end = text.run(at, ~kNotOther); end != at) {
    while (text.is_line_break(end) || text.letter(end) == '/') ++end;
    return end;
  }
  return numbers_and_rest(text, from, 3);
}

// \w : letters, marks, digits, connecting punctuation, and a few more.
bool is_word_character(uint32_t code, CategorySet set) {
  constexpr CategorySet kWord =
      kLetters | kMarks | set_of({Category::kNd, Category::kNl, Category::kPc});
  if ((set & kWord) != 0) return true;
  const auto within = [code](uint32_t first, uint32_t last) {
    return first <= code && code <= last;
  };
  // Joiners, and letters in circles and squares.
  return within(0x200c, 0x200d) || within(0x24b6, 0x24e9) || within(0x1f130, 0x1f149) ||
         within(0x1f150, 0x1f169) || within(0x1f170, 0x1f189);
}

enum class Kind : uint8_t { kSpace, kWord, kOther };

// Runs of one kind; each punctuation mark is a piece of its own where the rule is BERT's.
TextPiece run_of_kind(SplitRule rule, std::string_view text, size_t from) {
  const Categories& categories = Categories::get();
  const auto kind_at = [&](size_t at, size_t& bytes) {
    const Character character = character_at(text, at);
    bytes = character.bytes;
    const CategorySet set = categories.of(character.code);
    if ((set & kWhiteSpace) != 0) return Kind::kSpace;
    if (rule == SplitRule::kSpaces) return Kind::kWord;
    if (rule == SplitRule::kWhitespace) {
      return is_word_character(character.code, set) ? Kind::kWord : Kind::kOther;
    }
    constexpr CategorySet kSymbols = set_of({Category::kSc, Category::kSk, Category::kSm});
    const bool mark = (set & kPunctuation) != 0 || (character.code < 0x80 && (set & kSymbols) != 0);
    return mark ? Kind::kOther : Kind::kWord;
  };
  size_t bytes = 0;
  const Kind kind = kind_at(from, bytes);
  size_t at = from + bytes;
  if (rule == SplitRule::kBert && kind == Kind::kOther) return {at, true};
  while (at < text.size() && kind_at(at, bytes) == kind) at += bytes;
  return {at, kind != Kind::kSpace};
}

}  // namespace

std::span<const SplitPattern> split_patterns() {
  return kPatterns;
}

std::optional<SplitRule> rule_of_regex(std::string_view regex) {
  for (const SplitPattern& pattern : kPatterns) {
    if (!pattern.regex.empty() && pattern.regex == regex) return pattern.rule;
  }
  return std::nullopt;
}

SplitRule rule_of_name(std::string_view name) {
  std::vector<std::string> names;
  for (const SplitPattern& pattern : kPatterns) {
    if (pattern.regex.empty() || (!names.empty() && names.back() == pattern.name)) continue;
    if (pattern.name == name) return pattern.rule;
    names.emplace_back(pattern.name);
  }
  throw_error("there is no pattern '{}' to split texts with, there are {}.{}", printable_line(name),
              join(names, ", "), did_you_mean(name, names));
}

const SplitPattern& pattern_of(SplitRule rule) {
  for (const SplitPattern& pattern : kPatterns) {
    if (pattern.rule == rule) return pattern;
  }
  TY_CHECK(false, "rule {} has no pattern", static_cast<int>(rule));
}

TextPiece next_piece(SplitRule rule, std::string_view text, size_t from) {
  const Reader reader(text);
  switch (rule) {
    case SplitRule::kGpt2:
      return {gpt2(reader, from)};
    case SplitRule::kLlama3:
      return {llama3(reader, from, 3)};
    case SplitRule::kCl100k:
      return {cl100k(reader, from)};
    case SplitRule::kQwen2:
      return {llama3(reader, from, 1)};
    case SplitRule::kO200k:
      return {o200k(reader, from)};
    case SplitRule::kWhitespace:
    case SplitRule::kSpaces:
    case SplitRule::kBert:
      break;
  }
  return run_of_kind(rule, text, from);
}

Json split_json(SplitRule rule) {
  const SplitPattern& pattern = pattern_of(rule);
  if (pattern.regex.empty()) return Json::object({{"type", pattern.name}});
  return Json::object({{"type", "Split"},
                       {"pattern", Json::object({{"Regex", pattern.regex}})},
                       {"behavior", "Isolated"},
                       {"invert", false}});
}

Json sequence_json(Json::Array pre_tokenizers) {
  if (pre_tokenizers.empty()) return nullptr;
  if (pre_tokenizers.size() == 1) return pre_tokenizers[0];
  return Json::object({{"type", "Sequence"}, {"pretokenizers", std::move(pre_tokenizers)}});
}

size_t cut_place(std::string_view text, size_t from) {
  for (size_t at = from == 0 ? 1 : from; at < text.size(); ++at) {
    const char before = text[at - 1];
    const bool word = ('a' <= before && before <= 'z') || ('A' <= before && before <= 'Z') ||
                      ('0' <= before && before <= '9');
    if (word && (text[at] == ' ' || text[at] == '\n')) return at;
  }
  return text.size();
}

}  // namespace trainyard::data
