// The merges of byte-pair encoding: which two tokens beside each other become one, and in which
// order.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::data {

using TokenId = int32_t;

// Pairs of tokens, each with its rank (lower is merged first) and the token they become.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = kNone;
    TokenId result = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MergeTable(size_t expected = 0);

  // Adds a pair; false if it is there already.
  bool add(TokenId left, TokenId right, Merge merge);
  // Rank kNone: the pair is not merged.
  Merge find(TokenId left, TokenId right) const;
  size_t size() const { return size_; }

  // Merges the pair of the lowest rank, the leftmost of equal ones, until there is none. Time grows
  // as n log n, however the tokens are chosen.
  void apply(std::vector<TokenId>& tokens) const;

 private:
  struct Entry {
    uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr uint64_t kFree = UINT64_MAX;

  size_t place_of(uint64_t pair) const;
  void grow();
  void apply_short(std::vector<TokenId>& tokens) const;
  void apply_long(std::vector<TokenId>& tokens) const;

  std::vector<Entry> entries_;  // open addressing; the size is a power of two
  size_t size_ = 0;
};

}  // namespace trainyard::data
