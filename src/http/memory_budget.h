// How much memory the requests and answers under way may have together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace trainyard::serve {

// Thread-safe; shares keep it alive.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  explicit MemoryBudget(size_t bytes) : most_(bytes) {}

  size_t most() const { return most_; }
  size_t taken() const { return taken_.load(std::memory_order_relaxed); }

  // What one request or answer has taken; given back with its end. An empty one belongs to no
  // budget.
  class Share {
   public:
    Share() = default;
    explicit Share(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
    ~Share() { give_back(); }
    Share(Share&& other) noexcept
        : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    bool is_empty() const { return budget_ == nullptr; }
    // False, and nothing has changed, if there is not so much left.
    bool grow_to(size_t bytes);
    // The same; throws RequestError (kUnavailable).
    void require(size_t bytes);
    void shrink_to(size_t bytes);

   private:
    void give_back();

    std::shared_ptr<MemoryBudget> budget_;
    size_t bytes_ = 0;
  };

 private:
  size_t most_;
  std::atomic<size_t> taken_{0};
};

}  // namespace trainyard::serve
