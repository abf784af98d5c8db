#include "http/rate_limit.h"

#include <algorithm>

namespace trainyard::serve {
namespace {

// Beyond that those that are full again are forgotten.
constexpr size_t kMostClients = 10'000;

}  // namespace

// The next look comes after as many new clients as this one has kept, so that each client costs a
// constant number of looks however many there are.
void RateLimit::forget_full(double most, Clock::time_point now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return std::chrono::duration<double>(now - entry.second.filled).count() * rate_ >= most;
  });
  look_at_ = std::max(kMostClients, 2 * buckets_.size());
}

bool RateLimit::allows(const std::string& client, Clock::time_point now) {
  if (rate_ <= 0) return true;
  const double most = std::max(1.0, rate_);
  const std::lock_guard lock(mutex_);
  if (buckets_.size() > std::max(kMostClients, look_at_)) forget_full(most, now);
  Bucket& bucket = buckets_.try_emplace(client, Bucket{most, now}).first->second;
  const double passed = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(most, bucket.tokens + passed * rate_);
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

}  // namespace trainyard::serve
