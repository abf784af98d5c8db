// Tokens by id, and ids by token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text/merges.h"

namespace trainyard::data {

class Vocabulary {
 public:
  // Ids of files are below it: far above any published vocabulary, and small enough for a table.
  static constexpr int64_t kMostIds = int64_t{1} << 21;

  // Throws Error for an id outside of [0, kMostIds), or one that has a token already. A token that
  // is there already keeps its first id for find(), which never gives what is not `findable`.
  void add(int64_t id, std::string text, bool findable = true);

  // One above the largest id.
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  bool has(int64_t id) const;
  // Empty where there is no such token.
  std::string_view text(int64_t id) const;
  std::optional<TokenId> find(std::string_view text) const;
  size_t longest() const { return longest_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<std::optional<std::string>> texts_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> ids_;
  size_t longest_ = 0;
};

}  // namespace trainyard::data
