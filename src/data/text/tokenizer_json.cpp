// Reads tokenizer.json as Hugging Face's tokenizers write it. What is not supported is refused by
// its name, since a tokenizer that is almost right makes tokens that are wrong.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/text/bert_normalizer.h"
#include "data/text/byte_bpe.h"
#include "data/text/byte_letters.h"
#include "data/text/split.h"
#include "data/text/tokenizer.h"
#include "data/text/tokenizer_parts.h"
#include "data/text/unicode.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {
namespace {

// BERT's tokenizer: the longest token that a word begins with, then the longest of the rest.
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

int64_t count_characters(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += character_at(text, at).bytes;
  return count;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// What tokenizers of English took apart is put together again.
void tidy_up(std::string& text) {
  constexpr std::string_view kPairs[][2] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kPairs) replace_all(text, from, to);
}

WordPiece::WordPiece(Vocabulary vocabulary, WordPieceRules rules, AddedTokens added,
                     TextFrame frame)
    : Tokenizer(std::move(vocabulary), std::move(added), std::move(frame)),
      rules_(std::move(rules)) {
  const std::optional<TokenId> unknown = this->vocabulary().find(rules_.unknown);
  TY_REQUIRE(unknown, "the token for unknown words, '{}', is not in the vocabulary",
             printable_line(rules_.unknown));
  unknown_ = *unknown;
}

void WordPiece::encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                             WordCache* cache) const {
  if (rules_.normalizer) {
    encode_split(rules_.splits, rules_.normalizer->apply(text), tokens, cache);
  } else {
    encode_split(rules_.splits, text, tokens, cache);
  }
}

void WordPiece::encode_split(std::span<const SplitRule> splits, std::string_view text,
                             std::vector<TokenId>& tokens, WordCache* cache) const {
  if (splits.empty()) {
    if (!text.empty()) encode_word(text, tokens, cache);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const TextPiece piece = next_piece(splits[0], text, at);
    if (piece.kept) encode_split(splits.subspan(1), text.substr(at, piece.end - at), tokens, cache);
    at = piece.end;
  }
}

void WordPiece::encode_word(std::string_view word, std::vector<TokenId>& tokens,
                            WordCache* cache) const {
  if (cache != nullptr && cache->append(word, tokens)) return;
  std::vector<TokenId> pieces;
  if (!pieces_of(word, pieces)) pieces = {unknown_};
  tokens.insert(tokens.end(), pieces.begin(), pieces.end());
  if (cache != nullptr) cache->remember(word, pieces);
}

bool WordPiece::pieces_of(std::string_view word, std::vector<TokenId>& pieces) const {
  if (count_characters(word) > rules_.longest_word) return false;
  std::string wanted;
  for (size_t at = 0; at < word.size();) {
    const size_t lead = at == 0 ? 0 : rules_.inner.size();
    wanted = (at == 0 ? "" : rules_.inner) + std::string(word.substr(at));
    wanted.resize(std::min(wanted.size(), vocabulary().longest()));
    std::optional<TokenId> found;
    while (wanted.size() > lead && !(found = vocabulary().find(wanted))) {
      wanted.pop_back();
    }
    if (!found) return false;
    pieces.push_back(*found);
    at += wanted.size() - lead;
  }
  return true;
}

void WordPiece::decode_plain(std::span<const TokenId> tokens, std::string& out) const {
  for (const TokenId token : tokens) {
    std::string text(known_text(token));
    if (text.starts_with(rules_.inner) && !out.empty()) {
      text.erase(0, rules_.inner.size());
    } else if (!out.empty()) {
      text.insert(0, " ");
    }
    if (rules_.tidy) tidy_up(text);
    out += text;
  }
}

void WordPiece::append_added(const AddedToken& token, std::string& out) const {
  if (!out.empty()) out += ' ';
  out += token.content;
}

Json WordPiece::model_json() const {
  Json::Object tokens;
  for (int64_t id = 0; id < vocabulary().size(); ++id) {
    if (vocabulary().has(id)) tokens.emplace_back(std::string(vocabulary().text(id)), id);
  }
  return Json::object({{"type", "WordPiece"},
                       {"unk_token", rules_.unknown},
                       {"continuing_subword_prefix", rules_.inner},
                       {"max_input_chars_per_word", rules_.longest_word},
                       {"vocab", Json::object_of(std::move(tokens))}});
}

Json WordPiece::normalizer_json() const {
  return rules_.normalizer ? rules_.normalizer->json() : Json();
}

Json WordPiece::pre_tokenizer_json() const {
  Json::Array steps;
  for (const SplitRule rule : rules_.splits) steps.push_back(split_json(rule));
  return sequence_json(std::move(steps));
}

Json WordPiece::decoder_json() const {
  return Json::object({{"type", "WordPiece"}, {"prefix", rules_.inner}, {"cleanup", rules_.tidy}});
}

// A token for each character: the smallest vocabulary with which a network learns to spell.
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

// What can be read says what is needed; the rest of the model must not ask for more.
void refuse_bpe_options(const Json& model) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix", "unk_token"}) {
    const Json* value = model.find(key);
    TY_REQUIRE(
        value == nullptr || value->is_null() || (value->is_string() && value->as_string().empty()),
        "the model BPE has {} {}, which is not supported", key, printable_line(value->dump(-1)));
  }
  const Json* dropout = model.find("dropout");
  TY_REQUIRE(dropout == nullptr || dropout->is_null() || dropout->as_number() == 0,
             "the model BPE has a dropout, which is not supported: texts would have other tokens "
             "each time");
  TY_REQUIRE(!json_flag(model, "byte_fallback", false),
             "the model BPE has byte_fallback (SentencePiece), which is not supported; only "
             "byte-level BPE is");
}

// Tokens as bytes; those with a character that is no letter of bytes stay as they are.
Vocabulary read_byte_vocabulary(const Json& model, std::vector<TokenId>& verbatim) {
  Vocabulary vocabulary;
  for (const auto& [text, id] : json_object(model, "vocab").members()) {
    TY_REQUIRE(id.is_int(), "the id of token '{}' is not a whole number", printable_line(text));
    std::optional<std::string> bytes = from_letters(text);
    vocabulary.add(id.as_int(), bytes ? *bytes : text, /*findable=*/bytes.has_value());
    if (!bytes) verbatim.push_back(static_cast<TokenId>(id.as_int()));
  }
  std::sort(verbatim.begin(), verbatim.end());
  return vocabulary;
}

Vocabulary read_text_vocabulary(const Json& model) {
  Vocabulary vocabulary;
  for (const auto& [text, id] : json_object(model, "vocab").members()) {
    TY_REQUIRE(id.is_int(), "the id of token '{}' is not a whole number", printable_line(text));
    vocabulary.add(id.as_int(), text);
  }
  return vocabulary;
}

TokenId merged_token(const Vocabulary& vocabulary, std::string_view letters, size_t merge) {
  TY_REQUIRE(!letters.empty(), "merge {} has an empty part", merge);
  const std::optional<std::string> bytes = from_letters(letters);
  const std::optional<TokenId> id = bytes ? vocabulary.find(*bytes) : std::nullopt;
  TY_REQUIRE(id, "merge {} is of '{}', which is not in the vocabulary", merge,
             printable_line(letters));
  return *id;
}

// ["a b", ...] as files had them first, or [["a", "b"], ...].
std::vector<std::pair<TokenId, TokenId>> read_merges(const Json& model,
                                                     const Vocabulary& vocabulary) {
  std::vector<std::pair<TokenId, TokenId>> merges;
  const Json& list = json_member(model, "merges");
  TY_REQUIRE(list.is_array(), "the merges are not a list");
  for (const Json& entry : list.items()) {
    const size_t number = merges.size() + 1;
    std::vector<std::string> parts;
    if (entry.is_string()) {
      parts = split(entry.as_string(), ' ');
    } else if (entry.is_array()) {
      for (const Json& part : entry.items()) {
        if (part.is_string()) parts.push_back(part.as_string());
      }
    }
    TY_REQUIRE(parts.size() == 2, "merge {} is {}, expected two tokens", number,
               short_text(entry.dump(-1)));
    merges.emplace_back(merged_token(vocabulary, parts[0], number),
                        merged_token(vocabulary, parts[1], number));
  }
  return merges;
}

// Added tokens that are in the vocabulary too have the same id there.
void check_added(const Vocabulary& vocabulary, const AddedTokens& added) {
  for (const AddedToken& token : added.all()) {
    const std::string_view known = vocabulary.text(token.id);
    TY_REQUIRE(
        !vocabulary.has(token.id) || known == token.content || to_letters(known) == token.content,
        "two tokens have the id {}: '{}' of the vocabulary and the added token '{}'", token.id,
        printable_line(known), printable_line(token.content));
    const std::optional<TokenId> id = vocabulary.find(token.content);
    TY_REQUIRE(!id || *id == token.id,
               "the added token '{}' has the id {}, and {} in the vocabulary",
               printable_line(token.content), token.id, *id);
  }
}

std::unique_ptr<Tokenizer> read_bpe(const Json& root, const Json& model, AddedTokens added) {
  refuse_bpe_options(model);
  TY_REQUIRE(!read_normalizer(root),
             "the normalizer BertNormalizer is not supported with the model BPE");
  const PreTokenizer steps = read_pre_tokenizer(root);
  const std::string decoder = read_decoder(root).type;
  if (!steps.byte_level) {
    TY_REQUIRE(json_member(model, "merges").items().empty(),
               "the model BPE without the pre-tokenizer ByteLevel is not supported, unless it has "
               "no merges and its tokens are characters");
    TY_REQUIRE(steps.splits.empty(),
               "pre-tokenizers are not supported for tokens that are "
               "characters");
    TY_REQUIRE(decoder.empty() || decoder == "Fuse",
               "the decoder {} is not supported for tokens that are characters, Fuse is", decoder);
    Vocabulary vocabulary = read_text_vocabulary(model);
    check_added(vocabulary, added);
    TextFrame frame = read_frame(root, vocabulary, added);
    return std::make_unique<CharacterTokenizer>(std::move(vocabulary), std::move(added),
                                                std::move(frame));
  }
  TY_REQUIRE(decoder.empty() || decoder == "ByteLevel",
             "the decoder {} is not supported with ByteLevel tokens", decoder);
  ByteBpeRules rules;
  Vocabulary vocabulary = read_byte_vocabulary(model, rules.verbatim);
  rules.merges = read_merges(model, vocabulary);
  rules.splits = steps.splits;
  rules.split_by_byte_level = steps.split_by_byte_level;
  rules.prefix_space = steps.prefix_space;
  rules.whole_words = json_flag(model, "ignore_merges", false);
  check_added(vocabulary, added);
  TextFrame frame = read_frame(root, vocabulary, added);
  return std::make_unique<ByteBpe>(std::move(vocabulary), std::move(rules), std::move(added),
                                   std::move(frame));
}

std::unique_ptr<Tokenizer> read_word_piece(const Json& root, const Json& model, AddedTokens added) {
  constexpr int64_t kMostCharacters = 512;  // real files have 100
  const PreTokenizer steps = read_pre_tokenizer(root);
  TY_REQUIRE(!steps.byte_level,
             "the pre-tokenizer ByteLevel is not supported with the model WordPiece");
  WordPieceRules rules;
  rules.unknown = json_text(model, "unk_token", rules.unknown);
  rules.inner = json_text(model, "continuing_subword_prefix", rules.inner);
  rules.longest_word = json_number(model, "max_input_chars_per_word", rules.longest_word);
  require_number("max_input_chars_per_word", rules.longest_word, 1, kMostCharacters);
  rules.normalizer = read_normalizer(root);
  rules.splits = steps.splits;
  const Decoder decoder = read_decoder(root);
  TY_REQUIRE(decoder.type.empty() || decoder.type == "WordPiece",
             "the decoder {} is not supported with the model WordPiece", decoder.type);
  rules.tidy = decoder.tidy;
  Vocabulary vocabulary = read_text_vocabulary(model);
  check_added(vocabulary, added);
  TextFrame frame = read_frame(root, vocabulary, added);
  return std::make_unique<WordPiece>(std::move(vocabulary), std::move(rules), std::move(added),
                                     std::move(frame));
}

std::unique_ptr<Tokenizer> read_root(const Json& root) {
  TY_REQUIRE(root.is_object() && root.find("model") != nullptr,
             "expected a tokenizer.json: an object with a member 'model'");
  const Json& model = json_object(root, "model");
  // Files of before there were other models do not name theirs.
  std::string type = json_text(model, "type", "");
  if (type.empty()) type = model.find("merges") != nullptr ? "BPE" : "WordPiece";
  AddedTokens added = read_added_tokens(root);
  if (type == "BPE") return read_bpe(root, model, std::move(added));
  if (type == "WordPiece") return read_word_piece(root, model, std::move(added));
  throw_error("the model {} is not supported; byte-level BPE and WordPiece are", short_text(type));
}

}  // namespace

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

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view origin) {
  const Json root = Json::parse(text, origin);
  try {
    return read_root(root);
  } catch (const Error& error) {
    throw_error("{}: {}", origin, error.what());
  }
}

}  // namespace trainyard::data
