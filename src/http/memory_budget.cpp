#include "http/memory_budget.h"

#include "http/status.h"

namespace trainyard::serve {

MemoryBudget::Share& MemoryBudget::Share::operator=(Share&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  budget_ = std::move(other.budget_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool MemoryBudget::Share::grow_to(size_t bytes) {
  if (budget_ == nullptr || bytes <= bytes_) return true;
  const size_t more = bytes - bytes_;
  const size_t before = budget_->taken_.fetch_add(more);
  if (more > budget_->most_ || before > budget_->most_ - more) {
    budget_->taken_ -= more;
    return false;
  }
  bytes_ = bytes;
  return true;
}

void MemoryBudget::Share::require(size_t bytes) {
  if (grow_to(bytes)) return;
  throw RequestError(Status::kUnavailable,
                     "the requests under way have all memory there is for them; try again later",
                     /*retry_after_s=*/1);
}

void MemoryBudget::Share::shrink_to(size_t bytes) {
  if (budget_ == nullptr || bytes >= bytes_) return;
  budget_->taken_ -= bytes_ - bytes;
  bytes_ = bytes;
}

void MemoryBudget::Share::give_back() {
  shrink_to(0);
}

}  // namespace trainyard::serve
