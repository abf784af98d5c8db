// Equal constants kept once: whoever brings bytes that are there already gets those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace trainyard {

// Keeps nothing alive by itself. Thread-safe.
class ContentPool {
 public:
  struct Shared {
    std::shared_ptr<const void> owner;
    const void* data = nullptr;
  };

  // `data` belongs to `owner` and changes no more. Returns what has the same bytes and was brought
  // first and is still alive, or `owner` and `data` themselves.
  Shared share(std::shared_ptr<const void> owner, const void* data, size_t bytes);

 private:
  struct Entry {
    std::weak_ptr<const void> owner;
    const void* data = nullptr;
    size_t bytes = 0;
  };
  std::mutex mutex_;
  std::unordered_multimap<uint64_t, Entry> entries_;  // by a hash of the bytes
};

}  // namespace trainyard
