#include "data/text/merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>
#include <tuple>
#include <utility>

#include "base/random.h"

namespace trainyard::data {
namespace {

// Up to so many tokens, looking at all pairs for each merge is faster than a heap.
constexpr size_t kShort = 48;
constexpr size_t kLeastEntries = 16;

uint64_t pair_key(TokenId left, TokenId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// A token of a long word, linked to its neighbors; merged ones are taken out.
struct Link {
  TokenId token = 0;
  int64_t before = -1;
  int64_t after = -1;
};

// A pair that may be merged, if both tokens are still there when its turn comes.
struct Mergeable {
  uint32_t rank = 0;
  int64_t place = 0;  // of the left one
  TokenId left = 0;
  TokenId right = 0;
  TokenId result = 0;

  bool operator>(const Mergeable& other) const {
    return std::tie(rank, place) > std::tie(other.rank, other.place);
  }
};

}  // namespace

MergeTable::MergeTable(size_t expected)
    : entries_(std::bit_ceil(std::max(kLeastEntries, 2 * expected))) {}

size_t MergeTable::place_of(uint64_t pair) const {
  const size_t mask = entries_.size() - 1;
  size_t place = mix_bits(pair) & mask;
  while (entries_[place].pair != pair && entries_[place].pair != kFree) place = (place + 1) & mask;
  return place;
}

bool MergeTable::add(TokenId left, TokenId right, Merge merge) {
  if (2 * (size_ + 1) > entries_.size()) grow();
  const uint64_t pair = pair_key(left, right);
  Entry& entry = entries_[place_of(pair)];
  if (entry.pair == pair) return false;
  entry = {pair, merge};
  ++size_;
  return true;
}

void MergeTable::grow() {
  std::vector<Entry> old(2 * entries_.size());
  std::swap(old, entries_);
  for (const Entry& entry : old) {
    if (entry.pair != kFree) entries_[place_of(entry.pair)] = entry;
  }
}

MergeTable::Merge MergeTable::find(TokenId left, TokenId right) const {
  return entries_[place_of(pair_key(left, right))].merge;
}

void MergeTable::apply(std::vector<TokenId>& tokens) const {
  if (size_ == 0 || tokens.size() < 2) return;
  if (tokens.size() <= kShort) {
    apply_short(tokens);
  } else {
    apply_long(tokens);
  }
}

void MergeTable::apply_short(std::vector<TokenId>& tokens) const {
  std::array<Merge, kShort> merges;  // of each token with the next
  size_t count = tokens.size();
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = find(tokens[i], tokens[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNone) break;
    tokens[best] = merges[best].result;
    std::copy(tokens.begin() + static_cast<int64_t>(best) + 2,
              tokens.begin() + static_cast<int64_t>(count),
              tokens.begin() + static_cast<int64_t>(best) + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + count - 1, merges.begin() + best);
    --count;
    if (best + 1 < count) merges[best] = find(tokens[best], tokens[best + 1]);
    if (best > 0) merges[best - 1] = find(tokens[best - 1], tokens[best]);
  }
  tokens.resize(count);
}

void MergeTable::apply_long(std::vector<TokenId>& tokens) const {
  std::vector<Link> links(tokens.size());
  std::priority_queue<Mergeable, std::vector<Mergeable>, std::greater<>> queue;
  const auto consider = [&](int64_t place) {
    if (place < 0) return;
    const Link& link = links[static_cast<size_t>(place)];
    if (link.after < 0) return;
    const TokenId right = links[static_cast<size_t>(link.after)].token;
    const Merge merge = find(link.token, right);
    if (merge.rank != kNone) queue.push({merge.rank, place, link.token, right, merge.result});
  };
  constexpr TokenId kGone = -1;
  const auto count = static_cast<int64_t>(tokens.size());
  for (int64_t i = 0; i < count; ++i) {
    links[static_cast<size_t>(i)] = {tokens[static_cast<size_t>(i)], i - 1,
                                     i + 1 < count ? i + 1 : -1};
  }
  for (int64_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    const Mergeable next = queue.top();
    queue.pop();
    Link& left = links[static_cast<size_t>(next.place)];
    if (left.token != next.left || left.after < 0) continue;
    Link& right = links[static_cast<size_t>(left.after)];
    if (right.token != next.right) continue;
    left.token = next.result;
    right.token = kGone;
    left.after = right.after;
    if (left.after >= 0) links[static_cast<size_t>(left.after)].before = next.place;
    consider(left.before);
    consider(next.place);
  }
  tokens.clear();
  for (int64_t at = 0; at >= 0; at = links[static_cast<size_t>(at)].after) {
    tokens.push_back(links[static_cast<size_t>(at)].token);
  }
}

}  // namespace trainyard::data
