#include <functional>

#include "data/text/tokenizer.h"

namespace trainyard::data {
namespace {

constexpr size_t kEntries = size_t{1} << 17;
constexpr size_t kMostWords = kEntries / 2;
constexpr size_t kLongestWord = 48;

}  // namespace

WordCache::WordCache() : entries_(kEntries) {}

const WordCache::Entry* WordCache::find(std::string_view word, uint64_t hash, size_t& place) const {
  for (place = hash % kEntries; entries_[place].bytes != 0; place = (place + 1) % kEntries) {
    const Entry& entry = entries_[place];
    if (entry.hash == static_cast<uint32_t>(hash >> 32) && entry.bytes == word.size() &&
        std::string_view(words_).substr(entry.word, entry.bytes) == word) {
      return &entry;
    }
  }
  return nullptr;
}

bool WordCache::append(std::string_view word, std::vector<TokenId>& tokens) const {
  if (word.size() > kLongestWord) return false;
  size_t place = 0;
  const Entry* entry = find(word, std::hash<std::string_view>()(word), place);
  if (entry == nullptr) return false;
  const auto first = tokens_.begin() + entry->tokens;
  tokens.insert(tokens.end(), first, first + entry->count);
  return true;
}

void WordCache::remember(std::string_view word, std::span<const TokenId> tokens) {
  if (word.empty() || word.size() > kLongestWord || size_ == kMostWords) return;
  const uint64_t hash = std::hash<std::string_view>()(word);
  size_t place = 0;
  if (find(word, hash, place) != nullptr) return;
  entries_[place] = {.word = static_cast<uint32_t>(words_.size()),
                     .tokens = static_cast<uint32_t>(tokens_.size()),
                     .bytes = static_cast<uint16_t>(word.size()),
                     .count = static_cast<uint16_t>(tokens.size()),
                     .hash = static_cast<uint32_t>(hash >> 32)};
  words_ += word;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  ++size_;
}

}  // namespace trainyard::data
