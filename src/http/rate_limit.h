// How often each client may ask.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

#include "http/clock.h"

namespace trainyard::serve {

// A bucket of one second's requests per client, refilled steadily. Thread-safe.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(double requests_per_s) : rate_(requests_per_s) {}

  bool allows(const std::string& client, Clock::time_point now);

 private:
  struct Bucket {
    double tokens = 0;
    Clock::time_point filled;
  };

  void forget_full(double most, Clock::time_point now);

  double rate_;
  std::mutex mutex_;
  size_t look_at_ = 0;  // so many buckets before the next look for full ones
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace trainyard::serve
