#include "data/text/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/text/byte_bpe.h"
#include "data/text/byte_letters.h"
#include "data/text/word_counts.h"

namespace trainyard::data {
namespace {

constexpr int64_t kBytes = 256;
constexpr TokenId kInside = -1;  // of a symbol whose token begins before it

struct Pair {
  TokenId left = 0;
  TokenId right = 0;
  auto operator<=>(const Pair&) const = default;
};

struct PairHash {
  size_t operator()(const Pair& pair) const {
    return mix_bits(static_cast<uint64_t>(pair.left) << 32 | static_cast<uint32_t>(pair.right));
  }
};

struct PairFacts {
  int64_t count = 0;
  std::vector<uint32_t> places;  // where it stood once
};

// The most frequent first; of equal ones the lower ids.
struct Candidate {
  int64_t count = 0;
  Pair pair;

  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : other.pair < pair;
  }
};

// All words behind each other, each symbol of them a byte at first. A merge costs as much as the
// pair stands there, and every place is merged at most once for each of its bytes.
class Corpus {
 public:
  Corpus(std::span<const WordCount> words, const std::array<TokenId, 256>& byte_tokens) {
    size_t symbols = 0;
    for (const WordCount& word : words) symbols += word.word.size();
    TY_REQUIRE(symbols < UINT32_MAX,
               "the different words of the texts have {} bytes, at most {} are learned from",
               symbols, UINT32_MAX - 1);
    tokens_.reserve(symbols);
    for (const WordCount& word : words) {
      for (const char c : word.word) {
        tokens_.push_back(byte_tokens[static_cast<unsigned char>(c)]);
        word_.push_back(static_cast<uint32_t>(counts_.size()));
      }
      counts_.push_back(word.count);
    }
    last_.resize(tokens_.size());
    first_.resize(tokens_.size());
    for (uint32_t i = 0; i < tokens_.size(); ++i) last_[i] = first_[i] = i;
    for (uint32_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (word_[i] == word_[i + 1]) add({tokens_[i], tokens_[i + 1]}, i);
    }
    for (const auto& [pair, facts] : pairs_) queue_.push({facts.count, pair});
    touched_.clear();
  }

  // The pair to merge next; a count of 0: there is none.
  Candidate best() {
    while (!queue_.empty()) {
      const Candidate candidate = queue_.top();
      const int64_t count = pairs_[candidate.pair].count;
      if (count == candidate.count && count > 0) return candidate;
      queue_.pop();
      if (count > 0) queue_.push({count, candidate.pair});
    }
    return {};
  }

  void merge(const Pair& pair, TokenId result) {
    std::vector<uint32_t> places = std::move(pairs_[pair].places);
    if (!std::is_sorted(places.begin(), places.end())) std::sort(places.begin(), places.end());
    for (const uint32_t place : places) {
      if (tokens_[place] == pair.left && follows(place) &&
          tokens_[last_[place] + 1] == pair.right) {
        merge_at(place, pair, result);
      }
    }
    pairs_.erase(pair);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const Pair& changed : touched_) {
      const auto found = pairs_.find(changed);
      if (found != pairs_.end() && found->second.count > 0) {
        queue_.push({found->second.count, changed});
      }
    }
    touched_.clear();
  }

 private:
  // Whether the word goes on behind the token that begins at `place`.
  bool follows(uint32_t place) const {
    const size_t next = size_t{last_[place]} + 1;
    return next < tokens_.size() && word_[next] == word_[place];
  }

  void add(const Pair& pair, uint32_t place) {
    PairFacts& facts = pairs_[pair];
    facts.count += counts_[word_[place]];
    facts.places.push_back(place);
    touched_.push_back(pair);
  }

  void remove(const Pair& pair, uint32_t place) { pairs_[pair].count -= counts_[word_[place]]; }

  void merge_at(uint32_t place, const Pair& pair, TokenId result) {
    const uint32_t right = last_[place] + 1;
    const bool has_before = place > 0 && word_[place - 1] == word_[place];
    const uint32_t before = has_before ? first_[place - 1] : 0;
    if (has_before) remove({tokens_[before], pair.left}, place);
    if (follows(right)) remove({pair.right, tokens_[last_[right] + 1]}, place);
    tokens_[place] = result;
    tokens_[right] = kInside;
    last_[place] = last_[right];
    first_[last_[place]] = place;
    if (has_before) add({tokens_[before], result}, before);
    if (follows(place)) add({result, tokens_[last_[place] + 1]}, place);
  }

  std::vector<TokenId> tokens_;  // where a token begins; kInside elsewhere
  std::vector<uint32_t> last_;   // where a token begins: its last place
  std::vector<uint32_t> first_;  // where a token ends: its first place
  std::vector<uint32_t> word_;
  std::vector<int64_t> counts_;  // of the words
  std::unordered_map<Pair, PairFacts, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<Pair> touched_;
};

void learn_merges(Corpus& corpus, const BpeTraining& training, Vocabulary& vocabulary,
                  ByteBpeRules& rules, const TrainingProgress& progress) {
  const int64_t wanted = training.vocabulary - static_cast<int64_t>(training.specials.size());
  while (vocabulary.size() < wanted) {
    const Candidate next = corpus.best();
    if (next.count < std::max<int64_t>(training.least_count, 1)) break;
    const std::string text = std::string(vocabulary.text(next.pair.left)) +
                             std::string(vocabulary.text(next.pair.right));
    // Two ways may lead to one token.
    std::optional<TokenId> result = vocabulary.find(text);
    if (!result) {
      result = static_cast<TokenId>(vocabulary.size());
      vocabulary.add(*result, text);
    }
    rules.merges.emplace_back(next.pair.left, next.pair.right);
    corpus.merge(next.pair, *result);
    if (progress) {
      progress("merges", static_cast<double>(vocabulary.size()) / static_cast<double>(wanted));
    }
  }
  if (progress && vocabulary.size() < wanted) progress("merges", 1);
}

}  // namespace

std::unique_ptr<Tokenizer> train_bpe(std::span<const std::string_view> texts,
                                     const BpeTraining& training,
                                     const TrainingProgress& progress) {
  const int64_t least = kBytes + static_cast<int64_t>(training.specials.size());
  TY_REQUIRE(training.vocabulary >= least && training.vocabulary <= Vocabulary::kMostIds,
             "the vocabulary is {} tokens, expected {} (the bytes and {} special) to {}",
             training.vocabulary, least, training.specials.size(), Vocabulary::kMostIds);
  Vocabulary vocabulary;
  std::array<TokenId, 256> byte_tokens{};
  for (const uint8_t byte : bytes_by_letter()) {
    byte_tokens[byte] = static_cast<TokenId>(vocabulary.size());
    vocabulary.add(vocabulary.size(), std::string(1, static_cast<char>(byte)));
  }
  const std::vector<WordCount> words =
      count_words(texts, training.split, training.threads, [&](double share) {
        if (progress) progress("words", share);
      });
  TY_REQUIRE(!words.empty(), "the texts are empty, there is nothing to learn from");
  Corpus corpus(words, byte_tokens);
  ByteBpeRules rules;
  rules.splits = {training.split};
  rules.split_by_byte_level = training.split == SplitRule::kGpt2;
  learn_merges(corpus, training, vocabulary, rules, progress);
  std::vector<AddedToken> specials;
  for (const std::string& content : training.specials) {
    specials.push_back(
        {.id = static_cast<TokenId>(vocabulary.size() + static_cast<int64_t>(specials.size())),
         .content = content});
  }
  return std::make_unique<ByteBpe>(std::move(vocabulary), std::move(rules),
                                   AddedTokens(std::move(specials)), TextFrame{});
}

}  // namespace trainyard::data
