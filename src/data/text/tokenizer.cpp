#include "data/text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::data {
namespace {

constexpr int64_t kLargestFile = int64_t{1} << 28;

Json special_token_json(TokenId id) {
  return Json::object(
      {{"SpecialToken", Json::object({{"id", fmt::format("{}", id)}, {"type_id", 0}})}});
}

}  // namespace

void Tokenizer::encode(std::string_view text, std::vector<TokenId>& tokens,
                       WordCache* cache) const {
  for (size_t at = 0; at < text.size();) {
    const AddedTokens::Found found = added_.find(text, at);
    if (found.begin > at) encode_plain(text.substr(at, found.begin - at), tokens, cache);
    if (found.token != nullptr) tokens.push_back(found.token->id);
    at = found.end;
  }
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, Specials specials) const {
  std::string out;
  size_t begin = 0;
  const auto flush = [&](size_t end) {
    if (end > begin) decode_plain(tokens.subspan(begin, end - begin), out);
    begin = end + 1;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const AddedToken* added = added_.by_id(tokens[i]);
    if (added == nullptr) continue;
    flush(i);
    if (!added->special || specials == Specials::kKept) append_added(*added, out);
  }
  flush(tokens.size());
  return out;
}

std::optional<TokenId> Tokenizer::end_of_text() const {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]"}) {
    if (const AddedToken* token = added_.by_content(name)) return token->id;
  }
  return std::nullopt;
}

int64_t Tokenizer::vocabulary_size() const {
  const std::vector<AddedToken>& added = added_.all();
  return std::max(vocabulary_.size(), added.empty() ? 0 : int64_t{added.back().id} + 1);
}

std::optional<std::string> Tokenizer::token_text(int64_t id) const {
  if (id < 0 || id >= vocabulary_size()) return std::nullopt;
  if (const AddedToken* token = added_.by_id(static_cast<TokenId>(id))) return token->content;
  if (!vocabulary_.has(id)) return std::nullopt;
  return std::string(vocabulary_.text(id));
}

std::string_view Tokenizer::known_text(TokenId id) const {
  TY_REQUIRE(vocabulary_.has(id),
             "there is no token {}; the vocabulary of this tokenizer ({}) has the ids 0 to {}", id,
             kind(), vocabulary_size() - 1);
  return vocabulary_.text(id);
}

void Tokenizer::decode_plain(std::span<const TokenId> tokens, std::string& out) const {
  for (const TokenId token : tokens) out += known_text(token);
}

void Tokenizer::append_added(const AddedToken& token, std::string& out) const {
  out += token.content;
}

Json Tokenizer::frame_json() const {
  if (frame_.before.empty() && frame_.after.empty()) return nullptr;
  Json single = Json::array();
  Json specials = Json::object();
  const auto add = [&](TokenId id) {
    single.push_back(special_token_json(id));
    specials[fmt::format("{}", id)] =
        Json::object({{"id", fmt::format("{}", id)},
                      {"ids", Json::array_of(std::vector<int64_t>{id})},
                      {"tokens", Json::array_of(std::vector<std::string>{*token_text(id)})}});
  };
  for (const TokenId id : frame_.before) add(id);
  single.push_back(Json::object({{"Sequence", Json::object({{"id", "A"}, {"type_id", 0}})}}));
  for (const TokenId id : frame_.after) add(id);
  Json pair = single;
  pair.push_back(Json::object({{"Sequence", Json::object({{"id", "B"}, {"type_id", 1}})}}));
  return Json::object({{"type", "TemplateProcessing"},
                       {"single", single},
                       {"pair", pair},
                       {"special_tokens", specials}});
}

Json Tokenizer::json() const {
  return Json::object({{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", added_.json()},
                       {"normalizer", normalizer_json()},
                       {"pre_tokenizer", pre_tokenizer_json()},
                       {"post_processor", frame_json()},
                       {"decoder", decoder_json()},
                       {"model", model_json()}});
}

std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path& path,
                                          std::string_view pattern) {
  const std::string text = read_file(path, kLargestFile);
  const size_t first = text.find_first_not_of(" \t\r\n");
  TY_REQUIRE(first != std::string::npos,
             "{}: the file is empty, expected a tokenizer.json or ranks as tiktoken has them",
             path.string());
  if (text[first] == '{') return parse_tokenizer_json(text, path.string());
  return parse_tiktoken(text, pattern, path.string());
}

void write_tokenizer(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  write_file(path, path.extension() == ".tiktoken" ? tiktoken_text(tokenizer)
                                                   : tokenizer.json().dump() + "\n");
}

}  // namespace trainyard::data
