// Reads tokenizer.json as Hugging Face's tokenizers write it. What is not supported is refused by
// its name, since a tokenizer that is almost right makes tokens that are wrong.
#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/text/byte_bpe.h"
#include "data/text/byte_letters.h"
#include "data/text/character_tokenizer.h"
#include "data/text/tokenizer_parts.h"
#include "data/text/word_piece.h"

namespace trainyard::data {
namespace {

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

std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view origin) {
  const Json root = Json::parse(text, origin);
  try {
    return read_root(root);
  } catch (const Error& error) {
    throw_error("{}: {}", origin, error.what());
  }
}

}  // namespace trainyard::data
