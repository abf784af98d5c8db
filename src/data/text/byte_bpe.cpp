#include "data/text/byte_bpe.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "data/text/byte_letters.h"

namespace trainyard::data {
namespace {

std::string shown_token(const Vocabulary& vocabulary, TokenId id) {
  return printable_line(vocabulary.text(id));
}

MergeTable make_merges(const Vocabulary& vocabulary, const ByteBpeRules& rules) {
  MergeTable table(rules.merges.size());
  std::string both;
  for (size_t i = 0; i < rules.merges.size(); ++i) {
    const auto [left, right] = rules.merges[i];
    both = vocabulary.text(left);
    both += vocabulary.text(right);
    const std::optional<TokenId> result = vocabulary.find(both);
    TY_REQUIRE(result, "merge {} makes '{}', which is not in the vocabulary", i + 1,
               printable_line(both));
    const auto rank = static_cast<uint32_t>(rules.ranks_are_ids ? *result : i);
    TY_REQUIRE(table.add(left, right, {rank, *result}),
               "merge {} of '{}' and '{}' appears a second time", i + 1,
               shown_token(vocabulary, left), shown_token(vocabulary, right));
  }
  return table;
}

}  // namespace

ByteBpe::ByteBpe(Vocabulary vocabulary, ByteBpeRules rules, AddedTokens added, TextFrame frame)
    : Tokenizer(std::move(vocabulary), std::move(added), std::move(frame)),
      rules_(std::move(rules)),
      merges_(make_merges(this->vocabulary(), rules_)) {
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char text = static_cast<char>(byte);
    byte_tokens_[byte] = this->vocabulary().find({&text, 1}).value_or(-1);
  }
}

void ByteBpe::encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                           WordCache* cache) const {
  if (rules_.prefix_space && !text.empty() && text[0] != ' ') {
    encode_split(rules_.splits, ' ' + std::string(text), tokens, cache);
  } else {
    encode_split(rules_.splits, text, tokens, cache);
  }
}

void ByteBpe::encode_split(std::span<const SplitRule> splits, std::string_view text,
                           std::vector<TokenId>& tokens, WordCache* cache) const {
  if (splits.empty()) {
    encode_piece(text, tokens, cache);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const TextPiece piece = next_piece(splits[0], text, at);
    if (piece.kept) {
      const std::string_view part = text.substr(at, piece.end - at);
      if (splits.size() == 1) {
        encode_piece(part, tokens, cache);
      } else {
        encode_split(splits.subspan(1), part, tokens, cache);
      }
    }
    at = piece.end;
  }
}

void ByteBpe::encode_piece(std::string_view piece, std::vector<TokenId>& tokens,
                           WordCache* cache) const {
  const bool cached = cache != nullptr && merges_.size() > 0;
  if (cached && cache->append(piece, tokens)) return;
  if (rules_.whole_words && piece.size() <= vocabulary().longest()) {
    if (const std::optional<TokenId> whole = vocabulary().find(piece)) {
      tokens.push_back(*whole);
      if (cached) cache->remember(piece, {&*whole, 1});
      return;
    }
  }
  std::vector<TokenId> word;
  word.reserve(piece.size());
  for (const char c : piece) {
    const TokenId token = byte_tokens_[static_cast<unsigned char>(c)];
    TY_REQUIRE(token >= 0, "byte 0x{:02x} of the text is not in the vocabulary of {} tokens",
               static_cast<unsigned char>(c), vocabulary_size());
    word.push_back(token);
  }
  merges_.apply(word);
  tokens.insert(tokens.end(), word.begin(), word.end());
  if (cached) cache->remember(piece, word);
}

std::string ByteBpe::kind() const {
  return rules_.merges.empty() ? "bytes" : "byte-level BPE";
}

std::string ByteBpe::file_text(TokenId id) const {
  const std::vector<TokenId>& verbatim = rules_.verbatim;
  const std::string_view text = vocabulary().text(id);
  return std::binary_search(verbatim.begin(), verbatim.end(), id) ? std::string(text)
                                                                  : to_letters(text);
}

Json ByteBpe::model_json() const {
  std::vector<std::string> texts;
  for (int64_t id = 0; id < vocabulary().size(); ++id) {
    texts.push_back(file_text(static_cast<TokenId>(id)));
  }
  return bpe_model_json(vocabulary(), texts, rules_.merges, rules_.whole_words);
}

Json ByteBpe::pre_tokenizer_json() const {
  Json::Array steps;
  const size_t written = rules_.splits.size() - static_cast<size_t>(rules_.split_by_byte_level);
  for (size_t i = 0; i < written; ++i) {
    steps.emplace_back(split_json(rules_.splits[i]));
  }
  steps.emplace_back(Json::object({{"type", "ByteLevel"},
                                   {"add_prefix_space", rules_.prefix_space},
                                   {"trim_offsets", true},
                                   {"use_regex", rules_.split_by_byte_level}}));
  return sequence_json(std::move(steps));
}

Json ByteBpe::decoder_json() const {
  return Json::object({{"type", "ByteLevel"},
                       {"add_prefix_space", true},
                       {"trim_offsets", true},
                       {"use_regex", true}});
}

Json bpe_model_json(const Vocabulary& vocabulary, const std::vector<std::string>& texts,
                    std::span<const std::pair<TokenId, TokenId>> merges, bool whole_words) {
  Json::Object tokens;
  for (size_t id = 0; id < texts.size(); ++id) {
    const auto number = static_cast<int64_t>(id);
    if (vocabulary.has(number)) tokens.emplace_back(texts[id], number);
  }
  Json::Array pairs;
  pairs.reserve(merges.size());
  for (const auto& [left, right] : merges) {
    pairs.emplace_back(
        Json::Array{texts[static_cast<size_t>(left)], texts[static_cast<size_t>(right)]});
  }
  return Json::object({{"type", "BPE"},
                       {"dropout", nullptr},
                       {"unk_token", nullptr},
                       {"continuing_subword_prefix", nullptr},
                       {"end_of_word_suffix", nullptr},
                       {"fuse_unk", false},
                       {"byte_fallback", false},
                       {"ignore_merges", whole_words},
                       {"vocab", Json::object_of(std::move(tokens))},
                       {"merges", std::move(pairs)}});
}

std::unique_ptr<Tokenizer> make_byte_tokenizer(bool has_end) {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.add(byte, std::string(1, static_cast<char>(byte)));
  }
  AddedTokens end;
  if (has_end) end = AddedTokens({{.id = 256, .content = "<|endoftext|>"}});
  return std::make_unique<ByteBpe>(std::move(vocabulary), ByteBpeRules{}, std::move(end),
                                   TextFrame{});
}

}  // namespace trainyard::data
