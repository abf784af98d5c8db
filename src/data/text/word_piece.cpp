#include "data/text/word_piece.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "data/text/unicode.h"

namespace trainyard::data {
namespace {

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

}  // namespace

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

}  // namespace trainyard::data
