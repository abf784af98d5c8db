// A token for each character: the smallest vocabulary with which a network learns to spell.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "data/text/tokenizer.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

class CharacterTokenizer final : public Tokenizer {
 public:
  // Tokens are one character each.
  CharacterTokenizer(Vocabulary vocabulary, AddedTokens added, TextFrame frame);

  void encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                    WordCache* cache) const override;
  std::string kind() const override { return "characters"; }

 protected:
  Json model_json() const override;
  Json decoder_json() const override;

 private:
  std::unordered_map<uint32_t, TokenId> tokens_;
};

}  // namespace trainyard::data
