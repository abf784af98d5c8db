// Learning merges, applying them, and files of ranks.
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/text/bpe_trainer.h"
#include "data/text/byte_bpe.h"
#include "data/text/byte_letters.h"
#include "data/text/encode_texts.h"
#include "data/text/texts.h"
#include "data/text/word_counts.h"

namespace trainyard::data {
namespace {

// As the definition says: count all pairs, merge the best everywhere, again.
std::vector<std::pair<std::string, std::string>> learn_slowly(std::string_view text,
                                                              size_t merges) {
  std::map<std::string, int> rank;
  for (size_t i = 0; i < 256; ++i) {
    rank[std::string(1, static_cast<char>(bytes_by_letter()[i]))] = static_cast<int>(i);
  }
  std::vector<std::pair<std::vector<std::string>, int64_t>> words;
  for (const WordCount& word : count_words({&text, 1}, SplitRule::kGpt2, 1)) {
    words.push_back({{}, word.count});
    for (const char c : word.word) words.back().first.emplace_back(1, c);
  }
  std::vector<std::pair<std::string, std::string>> learned;
  while (learned.size() < merges) {
    std::map<std::pair<int, int>, int64_t> counts;
    std::map<std::pair<int, int>, std::pair<std::string, std::string>> names;
    for (const auto& [tokens, count] : words) {
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        const std::pair key(rank.at(tokens[i]), rank.at(tokens[i + 1]));
        counts[key] += count;
        names[key] = {tokens[i], tokens[i + 1]};
      }
    }
    std::pair<int, int> best;
    int64_t most = 1;
    for (const auto& [key, count] : counts) {
      if (count > most) {
        most = count;
        best = key;
      }
    }
    if (most < 2) break;
    const auto [left, right] = names[best];
    learned.emplace_back(left, right);
    rank.try_emplace(left + right, static_cast<int>(rank.size()));
    for (auto& [tokens, count] : words) {
      std::vector<std::string> merged;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const bool both = i + 1 < tokens.size() && tokens[i] == left && tokens[i + 1] == right;
        merged.push_back(both ? left + right : tokens[i]);
        i += static_cast<size_t>(both);
      }
      tokens = merged;
    }
  }
  return learned;
}

std::vector<std::pair<std::string, std::string>> merges_of(const Tokenizer& tokenizer) {
  const auto& bpe = dynamic_cast<const ByteBpe&>(tokenizer);
  std::vector<std::pair<std::string, std::string>> merges;
  for (const auto& [left, right] : bpe.rules().merges) {
    merges.emplace_back(bpe.vocabulary().text(left), bpe.vocabulary().text(right));
  }
  return merges;
}

TEST(BpeTrainer, LearnsWhatTheDefinitionSays) {
  std::string text = random_text(7, 3000) + " aaaaaaa aaaa aaaaaa abababab banana bananas ananas";
  const std::string_view view = text;
  const auto tokenizer = train_bpe({&view, 1}, {.vocabulary = 256 + 150 + 1});
  EXPECT_EQ(merges_of(*tokenizer), learn_slowly(text, 150));
  EXPECT_EQ(tokenizer->vocabulary_size(), 256 + 150 + 1);
  EXPECT_EQ(tokenizer->end_of_text(), 256 + 150);
}

TEST(BpeTrainer, ThreadsDoNotMatter) {
  const std::string text = random_text(3, 5000);
  const std::vector<std::string_view> texts = {text, "another text", text};
  const auto one = train_bpe(texts, {.vocabulary = 400, .threads = 1});
  const auto three = train_bpe(texts, {.vocabulary = 400, .threads = 3});
  EXPECT_EQ(one->json().dump(), three->json().dump());
  EXPECT_EQ(encode_texts(*one, texts, 1, true), encode_texts(*one, texts, 3, true));
}

TEST(BpeTrainer, StopsWhereNoPairIsLeft) {
  const std::vector<std::string_view> texts = {"abc abc"};
  const auto tokenizer = train_bpe(texts, {.vocabulary = 1000});
  EXPECT_EQ(merges_of(*tokenizer).size(), 2U);  // "abc" in two steps; the space stands once
  EXPECT_THROW(train_bpe(texts, {.vocabulary = 256}), Error);
  const std::vector<std::string_view> nothing = {""};
  EXPECT_THROW(train_bpe(nothing, {.vocabulary = 1000}), Error);
}

TEST(MergeTable, LongAndShortWordsAgreeWithTheDefinition) {
  MergeTable table;
  const RandomStream random(11);
  TokenId next = 4;
  for (uint32_t rank = 0; rank < 60; ++rank) {
    const auto left = static_cast<TokenId>(random.below(2 * rank, static_cast<uint64_t>(next)));
    const auto right =
        static_cast<TokenId>(random.below(2 * rank + 1, static_cast<uint64_t>(next)));
    if (table.add(left, right, {rank, next})) ++next;
  }
  for (uint64_t length : {2U, 5U, 30U, 48U, 49U, 200U, 1000U}) {
    std::vector<TokenId> tokens;
    for (uint64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<TokenId>(random.below(1000 + length * 7 + i, 4)));
    }
    std::vector<TokenId> expected = tokens;
    while (true) {
      size_t best = 0;
      MergeTable::Merge merge;
      for (size_t i = 0; i + 1 < expected.size(); ++i) {
        const MergeTable::Merge here = table.find(expected[i], expected[i + 1]);
        if (here.rank < merge.rank) {
          merge = here;
          best = i;
        }
      }
      if (merge.rank == MergeTable::kNone) break;
      expected[best] = merge.result;
      expected.erase(expected.begin() + static_cast<int64_t>(best) + 1);
    }
    table.apply(tokens);
    EXPECT_EQ(tokens, expected) << length;
  }
}

TEST(Tiktoken, RanksHoldTheTokenizer) {
  const std::string text = random_text(5, 4000);
  const std::string_view view = text;
  const auto tokenizer = train_bpe({&view, 1}, {.vocabulary = 500, .split = SplitRule::kLlama3});
  const auto ranks = parse_tiktoken(tiktoken_text(*tokenizer), "llama3", "ranks");
  EXPECT_EQ(ranks->vocabulary_size(), tokenizer->vocabulary_size());
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string other = random_text(seed, 60);
    EXPECT_EQ(encoded(*ranks, other), encoded(*tokenizer, other)) << seed;
    EXPECT_EQ(ranks->decode(encoded(*ranks, other)), other);
  }
  EXPECT_EQ(tiktoken_text(*ranks), tiktoken_text(*tokenizer));
}

TEST(Tiktoken, BadFilesAreRefused) {
  const auto problem = [](const std::string& text, const char* pattern = "gpt2") -> std::string {
    try {
      parse_tiktoken(text, pattern, "ranks");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(problem("YQ== 0\n").find("byte 0x00 is not among"), std::string::npos);
  EXPECT_NE(problem("YQ==0\n").find("line 1: expected a token in base 64"), std::string::npos);
  EXPECT_NE(problem("YQ== x\n").find("the rank 'x'"), std::string::npos);
  EXPECT_NE(problem("YQ== 99999999999\n").find("id 99999999999"), std::string::npos);
  EXPECT_NE(problem("YQ== 0\nYg== 0\n").find("two tokens have the id 0: 'a' and 'b'"),
            std::string::npos);
  EXPECT_NE(problem("YQ== 0\nYQ== 1\n").find("line 2: the token 'a' appears a second"),
            std::string::npos);
  EXPECT_NE(problem(tiktoken_text(*make_byte_tokenizer()), "x").find("no pattern 'x'"),
            std::string::npos);
}

TEST(Characters, EachIsAToken) {
  const std::vector<std::string_view> texts = {"ba\u00e9\nab"};
  const auto tokenizer = make_character_tokenizer(texts);
  EXPECT_EQ(tokenizer->vocabulary_size(), 4);
  EXPECT_EQ(encoded(*tokenizer, "\u00e9a"), (std::vector<TokenId>{3, 1}));
  EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, "ab\n")), "ab\n");
  const auto again = parse_tokenizer_json(tokenizer->json().dump(), "chars");
  EXPECT_EQ(again->kind(), "characters");
  EXPECT_EQ(encoded(*again, "\u00e9a"), (std::vector<TokenId>{3, 1}));
  EXPECT_THROW(encoded(*tokenizer, "x"), Error);
  EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{4}), Error);
}

TEST(Bytes, EveryTextIsOneOfThem) {
  const auto tokenizer = make_byte_tokenizer();
  const std::string text("\x00\xff<|endoftext|>a", 16);
  EXPECT_EQ(encoded(*tokenizer, text), (std::vector<TokenId>{0, 255, 256, 'a'}));
  EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, text)), text);
  std::vector<TokenId> plain;
  tokenizer->encode_plain(text, plain);
  EXPECT_EQ(plain.size(), text.size());
  const auto again = parse_tokenizer_json(tokenizer->json().dump(), "bytes");
  EXPECT_EQ(encoded(*again, text), encoded(*tokenizer, text));
}

}  // namespace
}  // namespace trainyard::data
