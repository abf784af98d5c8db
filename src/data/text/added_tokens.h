// Tokens that stand in a text as they are written, before it is cut into words: ends of texts,
// roles of a chat, masks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "data/text/merges.h"

namespace trainyard::data {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = true;      // left out where a text is made for people
  bool strip_left = false;  // takes the white space before it with it
  bool strip_right = false;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Throws Error for an empty or long content, and for two of one content or id.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Found {
    size_t begin = 0;
    size_t end = 0;
    const AddedToken* token = nullptr;  // null: there is none in the rest of the text
  };
  // The first at or after `from`, and of those that begin there the longest.
  Found find(std::string_view text, size_t from) const;
  const AddedToken* by_id(TokenId id) const;
  const AddedToken* by_content(std::string_view content) const;

  const std::vector<AddedToken>& all() const { return tokens_; }
  Json json() const;

 private:
  // The longest token that begins at `at`; null if none does.
  const AddedToken* match(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;  // sorted by id
  // A tree of bytes: the node behind another by a byte, and the token that ends at a node.
  std::unordered_map<uint64_t, uint32_t> edges_;
  std::unordered_map<uint32_t, size_t> ends_;
};

}  // namespace trainyard::data
