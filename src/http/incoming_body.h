// The body of a request while it arrives.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/numbers_ahead.h"
#include "http/body.h"
#include "http/memory_budget.h"

namespace trainyard::serve {

// Straight into its place, so that large tensors are not copied on the way. Memory is taken as
// bytes come, not as they are announced. All functions throw RequestError (kUnavailable) where the
// budget is spent, and std::bad_alloc.
class IncomingBody {
 public:
  explicit IncomingBody(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}

  // A body of known length. Its first tensor, which follows so many bytes of JSON, will be aligned.
  void begin(size_t bytes, size_t json_bytes);
  bool is_open() const { return memory_ != nullptr; }
  // Where the next bytes go; what came there is then told to add().
  std::span<char> room();
  void add(size_t bytes);
  bool is_complete() const { return filled_ == size_; }
  size_t filled() const { return filled_; }

  // Gives it away with the numbers that were read on the way.
  Body take(std::shared_ptr<const NumbersAhead>& ahead);
  // The same of a body in chunks, put together.
  Body take_chunks(std::string chunks);
  // Counts the memory of chunks so far.
  void count_chunks(const std::string& chunks);
  void clear();

 private:
  struct Memory {
    std::unique_ptr<char[]> bytes;  // with room in front, so that tensors are aligned
    MemoryBudget::Share share;
  };
  void allocate(size_t capacity);
  void look_ahead();

  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Memory> memory_;
  MemoryBudget::Share chunks_share_;
  size_t begin_ = 0;  // in memory_
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t filled_ = 0;
  size_t json_bytes_ = 0;
  std::shared_ptr<NumbersAhead> ahead_;
};

}  // namespace trainyard::serve
