// Byte-level byte-pair encoding: any text is a sequence of bytes, of which frequent ones are
// merged.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "data/text/split.h"
#include "data/text/tokenizer.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

struct ByteBpeRules {
  // Tokens that are written in files as they are, not as letters; sorted.
  std::vector<TokenId> verbatim = {};
  // In their order; the result of each is the token of both texts together.
  std::vector<std::pair<TokenId, TokenId>> merges = {};
  // The rank of a merge is the id of its result, as in files of ranks; else its place in the list.
  bool ranks_are_ids = false;
  // Each cuts the pieces of the one before; none: the text is one piece.
  std::vector<SplitRule> splits = {};
  bool split_by_byte_level = false;  // files name the last one only as a part of ByteLevel
  bool prefix_space = false;         // a text that does not begin with a space gets one
  bool whole_words = false;          // a piece that is a token is one, whatever the merges say
};

class ByteBpe final : public Tokenizer {
 public:
  // Throws Error for a merge of tokens that are not there, or that appears twice.
  ByteBpe(Vocabulary vocabulary, ByteBpeRules rules, AddedTokens added, TextFrame frame);

  void encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                    WordCache* cache) const override;
  // Without a split, a merge may reach over any place.
  bool may_be_cut() const override {
    return !rules_.prefix_space && (!rules_.splits.empty() || rules_.merges.empty());
  }
  std::string kind() const override;

  const ByteBpeRules& rules() const { return rules_; }

 protected:
  Json model_json() const override;
  Json pre_tokenizer_json() const override;
  Json decoder_json() const override;

 private:
  void encode_split(std::span<const SplitRule> splits, std::string_view text,
                    std::vector<TokenId>& tokens, WordCache* cache) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& tokens, WordCache* cache) const;
  std::string file_text(TokenId id) const;

  ByteBpeRules rules_;
  std::array<TokenId, 256> byte_tokens_{};
  MergeTable merges_;
};

// As files write byte-pair encoding: the text of each token, and the pairs.
Json bpe_model_json(const Vocabulary& vocabulary, const std::vector<std::string>& texts,
                    std::span<const std::pair<TokenId, TokenId>> merges, bool whole_words);

}  // namespace trainyard::data
