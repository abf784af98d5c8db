#include "base/content_pool.h"

#include <cstring>

#include "base/random.h"

namespace trainyard {
namespace {

uint64_t hash_bytes(const void* data, size_t bytes) {
  constexpr size_t kWord = sizeof(uint64_t);
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t hash = bytes;
  uint64_t word = 0;
  for (; bytes >= kWord; bytes -= kWord, at += kWord) {
    std::memcpy(&word, at, kWord);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  word = 0;
  if (bytes > 0) std::memcpy(&word, at, bytes);
  return mix_bits(hash ^ word);
}

}  // namespace

ContentPool::Shared ContentPool::share(std::shared_ptr<const void> owner, const void* data,
                                       size_t bytes) {
  const uint64_t hash = hash_bytes(data, bytes);
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.owner.expired(); });
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Entry& entry = it->second;
    std::shared_ptr<const void> known = entry.owner.lock();
    if (known != nullptr && entry.bytes == bytes && std::memcmp(entry.data, data, bytes) == 0) {
      return {std::move(known), entry.data};
    }
  }
  entries_.emplace(hash, Entry{owner, data, bytes});
  return {std::move(owner), data};
}

}  // namespace trainyard
