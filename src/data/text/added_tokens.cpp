#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "data/text/tokenizer.h"
#include "data/text/unicode.h"

namespace trainyard::data {
namespace {

// Bounds what a text costs that almost has such a token at every place.
constexpr size_t kLongestContent = 512;

bool is_space_at(std::string_view text, size_t at, size_t& bytes) {
  const Character character = character_at(text, at);
  bytes = character.bytes;
  return (Categories::get().of(character.code) & kWhiteSpace) != 0;
}

size_t before_spaces(std::string_view text, size_t from, size_t at) {
  while (at > from) {
    size_t previous = at - 1;
    while (previous > from && (static_cast<unsigned char>(text[previous]) & 0xc0) == 0x80) {
      --previous;
    }
    size_t bytes = 0;
    if (!is_space_at(text, previous, bytes) || previous + bytes != at) break;
    at = previous;
  }
  return at;
}

size_t behind_spaces(std::string_view text, size_t at) {
  size_t bytes = 0;
  while (at < text.size() && is_space_at(text, at, bytes)) at += bytes;
  return at;
}

uint64_t edge_key(uint32_t node, char byte) {
  return uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  uint32_t nodes = 1;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    TY_REQUIRE(!content.empty(), "added token {} has no content", tokens_[i].id);
    TY_REQUIRE(content.size() <= kLongestContent, "added token {} has {} bytes, at most {}",
               tokens_[i].id, content.size(), kLongestContent);
    TY_REQUIRE(i == 0 || tokens_[i - 1].id != tokens_[i].id,
               "two added tokens have the id {}: '{}' and '{}'", tokens_[i].id,
               printable_line(tokens_[i - 1].content), printable_line(content));
    uint32_t node = 0;
    for (const char byte : content) {
      const auto [edge, is_new] = edges_.try_emplace(edge_key(node, byte), nodes);
      nodes += static_cast<uint32_t>(is_new);
      node = edge->second;
    }
    TY_REQUIRE(ends_.try_emplace(node, i).second, "two added tokens are '{}': {} and {}",
               printable_line(content), tokens_[ends_[node]].id, tokens_[i].id);
  }
}

const AddedToken* AddedTokens::match(std::string_view text, size_t at) const {
  const AddedToken* longest = nullptr;
  uint32_t node = 0;
  for (; at < text.size(); ++at) {
    const auto edge = edges_.find(edge_key(node, text[at]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (const auto end = ends_.find(node); end != ends_.end()) longest = &tokens_[end->second];
  }
  return longest;
}

AddedTokens::Found AddedTokens::find(std::string_view text, size_t from) const {
  if (!tokens_.empty()) {
    for (size_t at = from; at < text.size(); ++at) {
      const AddedToken* token = match(text, at);
      if (token == nullptr) continue;
      const size_t end = at + token->content.size();
      return {token->strip_left ? before_spaces(text, from, at) : at,
              token->strip_right ? behind_spaces(text, end) : end, token};
    }
  }
  return {text.size(), text.size(), nullptr};
}

const AddedToken* AddedTokens::by_id(TokenId id) const {
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), id,
                       [](const AddedToken& token, TokenId wanted) { return token.id < wanted; });
  return found != tokens_.end() && found->id == id ? &*found : nullptr;
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const AddedToken* token = match(content, 0);
  return token != nullptr && token->content.size() == content.size() ? token : nullptr;
}

Json AddedTokens::json() const {
  Json list = Json::array();
  for (const AddedToken& token : tokens_) {
    list.push_back(Json::object({{"id", int64_t{token.id}},
                                 {"content", token.content},
                                 {"single_word", false},
                                 {"lstrip", token.strip_left},
                                 {"rstrip", token.strip_right},
                                 {"normalized", false},
                                 {"special", token.special}}));
  }
  return list;
}

}  // namespace trainyard::data
