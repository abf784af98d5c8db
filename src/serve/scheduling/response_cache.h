// Results of requests that were asked before, the last used kept up to a number of bytes.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "serve/scheduling/job.h"

namespace trainyard::serve {

// Keys are the inputs themselves, not a hash of them, so that a hit is never a wrong answer.
// Thread-safe.
class ResponseCache {
 public:
  explicit ResponseCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Of a job of a model's version; pictures as they came, not decoded.
  static std::string key(std::string_view model, std::string_view version, const Job& job);

  std::optional<InferResult> find(const std::string& key);
  void add(std::string key, const InferResult& result);
  // Forgets what belongs to a version.
  void forget(std::string_view model, std::string_view version);
  int64_t bytes() const;

 private:
  struct Entry {
    std::string key;
    InferResult result;
    int64_t bytes = 0;
  };
  void drop(std::list<Entry>::iterator entry);

  int64_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the last one used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
  int64_t bytes_ = 0;
};

}  // namespace trainyard::serve
