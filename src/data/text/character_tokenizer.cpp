#include "data/text/character_tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "data/text/byte_bpe.h"
#include "data/text/unicode.h"

namespace trainyard::data {

CharacterTokenizer::CharacterTokenizer(Vocabulary vocabulary, AddedTokens added, TextFrame frame)
    : Tokenizer(std::move(vocabulary), std::move(added), std::move(frame)) {
  const Vocabulary& known = this->vocabulary();
  for (int64_t id = 0; id < known.size(); ++id) {
    if (!known.has(id) || this->added().by_id(static_cast<TokenId>(id)) != nullptr) continue;
    const std::string_view text = known.text(id);
    const Character character = text.empty() ? Character{} : character_at(text, 0);
    TY_REQUIRE(character.bytes == text.size() && character.code <= kLastCodePoint,
               "token {} is '{}', expected one character, as there are no merges", id,
               printable_line(text));
    tokens_.try_emplace(character.code, static_cast<TokenId>(id));
  }
}

void CharacterTokenizer::encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                                      WordCache* /*cache*/) const {
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const auto token = tokens_.find(character.code);
    TY_REQUIRE(token != tokens_.end(),
               "the character '{}' at byte {} is not among the {} of this tokenizer; make it from "
               "all texts, or take bytes, which know every text",
               printable_line(text.substr(at, character.bytes)), at, tokens_.size());
    tokens.push_back(token->second);
    at += character.bytes;
  }
}

// Byte-pair encoding without merges leaves characters.
Json CharacterTokenizer::model_json() const {
  std::vector<std::string> texts;
  for (int64_t id = 0; id < vocabulary().size(); ++id) texts.emplace_back(vocabulary().text(id));
  return bpe_model_json(vocabulary(), texts, {}, /*whole_words=*/false);
}

Json CharacterTokenizer::decoder_json() const {
  return Json::object({{"type", "Fuse"}});
}

std::unique_ptr<Tokenizer> make_character_tokenizer(std::span<const std::string_view> texts) {
  std::vector<bool> seen(kLastCodePoint + 1);
  for (const std::string_view text : texts) {
    for (size_t at = 0; at < text.size();) {
      const Character character = character_at(text, at);
      TY_REQUIRE(character.code <= kLastCodePoint,
                 "byte {} (0x{:02x}) is not UTF-8, so there are no characters to learn; bytes "
                 "know every text",
                 at, static_cast<unsigned char>(text[at]));
      seen[character.code] = true;
      at += character.bytes;
    }
  }
  Vocabulary vocabulary;
  for (uint32_t code = 0; code <= kLastCodePoint; ++code) {
    if (!seen[code]) continue;
    std::string text;
    append_utf8(text, code);
    vocabulary.add(vocabulary.size(), std::move(text));
  }
  TY_REQUIRE(vocabulary.size() > 0, "the texts are empty, so there are no characters to learn");
  AddedTokens end;
  if (texts.size() > 1) {
    end =
        AddedTokens({{.id = static_cast<TokenId>(vocabulary.size()), .content = "<|endoftext|>"}});
  }
  return std::make_unique<CharacterTokenizer>(std::move(vocabulary), std::move(end), TextFrame{});
}

}  // namespace trainyard::data
