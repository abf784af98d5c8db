#include "data/text/split.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/text/texts.h"
#include "data/text/word_counts.h"

namespace trainyard::data {
namespace {

std::vector<std::string> pieces(SplitRule rule, std::string_view text) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    const TextPiece piece = next_piece(rule, text, at);
    EXPECT_GT(piece.end, at);
    EXPECT_LE(piece.end, text.size());
    if (piece.end <= at) break;
    if (piece.kept) result.emplace_back(text.substr(at, piece.end - at));
    at = piece.end;
  }
  return result;
}

using Pieces = std::vector<std::string>;

TEST(Split, PatternsOfPublishedTokenizers) {
  EXPECT_EQ(pieces(SplitRule::kGpt2, "It's 1234  foxes\n\n we'LL"),
            (Pieces{"It", "'s", " 1234", " ", " foxes", "\n\n", " we", "'", "LL"}));
  EXPECT_EQ(pieces(SplitRule::kLlama3, "It'S 1234  foxes\n\n we'LL"),
            (Pieces{"It", "'S", " ", "123", "4", " ", " foxes", "\n\n", " we", "'LL"}));
  EXPECT_EQ(pieces(SplitRule::kQwen2, "12 $x"), (Pieces{"1", "2", " $", "x"}));
  EXPECT_EQ(pieces(SplitRule::kLlama3, "a\n  "), (Pieces{"a", "\n", "  "}));
  EXPECT_EQ(pieces(SplitRule::kCl100k, "a\n  "), (Pieces{"a", "\n  "}));
  EXPECT_EQ(pieces(SplitRule::kO200k, "camelCase HTTPServer's /usr"),
            (Pieces{"camel", "Case", " HTTPServer's", " /", "usr"}));
}

TEST(Split, WordsWithoutWhiteSpace) {
  EXPECT_EQ(pieces(SplitRule::kWhitespace, " a_b, c\u200d!"), (Pieces{"a_b", ",", "c\u200d", "!"}));
  EXPECT_EQ(pieces(SplitRule::kSpaces, " a_b,\u3000c! "), (Pieces{"a_b,", "c!"}));
  EXPECT_EQ(pieces(SplitRule::kBert, "a$b... \u2014"),
            (Pieces{"a", "$", "b", ".", ".", ".", "\u2014"}));
}

TEST(Split, PartsHaveThePiecesOfTheWhole) {
  for (const SplitPattern& pattern : split_patterns()) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const std::string text = random_text(seed, 120);
      const std::string_view view = text;
      Pieces joined;
      for (const std::string_view part : cut_texts({&view, 1}, 1 + seed)) {
        for (std::string& piece : pieces(pattern.rule, part)) joined.push_back(std::move(piece));
      }
      EXPECT_EQ(joined, pieces(pattern.rule, text)) << pattern.name << ", seed " << seed;
    }
  }
}

TEST(Split, UnknownPatterns) {
  EXPECT_FALSE(rule_of_regex("(a+)+$"));
  EXPECT_EQ(rule_of_name("llama3"), SplitRule::kLlama3);
  try {
    rule_of_name("llama4");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean llama3"), std::string::npos);
  }
}

TEST(Unicode, BrokenBytesAreFound) {
  EXPECT_EQ(first_broken_byte("a\u00e9\U0010ffff"), 7U);
  for (const char* broken : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xbd"}) {
    EXPECT_EQ(first_broken_byte(std::string("ab") + broken), 2U);
  }
}

TEST(Unicode, LettersWithoutAccentsAndSmall) {
  const auto made = [](void (*append)(std::string&, uint32_t), uint32_t code) {
    std::string out;
    append(out, code);
    return out;
  };
  EXPECT_EQ(made(append_without_accents, 0xe9), "e");
  EXPECT_EQ(made(append_without_accents, 0x301), "");
  EXPECT_EQ(made(append_without_accents, 0x1ed9), "o");
  EXPECT_EQ(made(append_without_accents, 0xd55c), "\u1112\u1161\u11ab");
  EXPECT_EQ(made(append_without_accents, 0x4e00), "\u4e00");
  EXPECT_EQ(made(append_small_letter, 'Q'), "q");
  EXPECT_EQ(made(append_small_letter, 0x130), "i\u0307");
  EXPECT_EQ(made(append_small_letter, 0x100), "\u0101");
  EXPECT_EQ(made(append_small_letter, 0x101), "\u0101");
  EXPECT_EQ(made(append_small_letter, 0x10400), "\U00010428");
}

}  // namespace
}  // namespace trainyard::data
