// BERT's tokenizer: the longest token that a word begins with, then the longest of the rest.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/text/bert_normalizer.h"
#include "data/text/split.h"
#include "data/text/tokenizer.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

struct WordPieceRules {
  std::string unknown = "[UNK]";  // the token of words that have no tokens
  std::string inner = "##";       // before tokens that do not begin a word
  int64_t longest_word = 100;     // in characters; longer ones are unknown
  std::optional<BertNormalizer> normalizer = {};
  std::vector<SplitRule> splits = {};
  bool tidy = true;  // decoding takes the space before punctuation away
};

class WordPiece final : public Tokenizer {
 public:
  // Throws Error if the unknown token is not in the vocabulary.
  WordPiece(Vocabulary vocabulary, WordPieceRules rules, AddedTokens added, TextFrame frame);

  void encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                    WordCache* cache) const override;
  std::string kind() const override { return "WordPiece"; }

 protected:
  void decode_plain(std::span<const TokenId> tokens, std::string& out) const override;
  void append_added(const AddedToken& token, std::string& out) const override;
  Json model_json() const override;
  Json normalizer_json() const override;
  Json pre_tokenizer_json() const override;
  Json decoder_json() const override;

 private:
  void encode_split(std::span<const SplitRule> splits, std::string_view text,
                    std::vector<TokenId>& tokens, WordCache* cache) const;
  void encode_word(std::string_view word, std::vector<TokenId>& tokens, WordCache* cache) const;
  // False: it has no tokens.
  bool pieces_of(std::string_view word, std::vector<TokenId>& pieces) const;

  WordPieceRules rules_;
  TokenId unknown_ = 0;
};

}  // namespace trainyard::data
