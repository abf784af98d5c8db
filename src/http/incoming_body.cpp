#include <algorithm>
#include <cstring>

#include "http/http_session.h"
#include "tensor/tensor.h"

namespace trainyard::serve {
namespace {

// What is read is still in the cache when its numbers are looked at.
constexpr size_t kLargestRead = 256 << 10;
// A client has to send so much of its body before it gets the memory for the rest.
constexpr size_t kFirstPart = 256 << 10;
// Smaller ones are no matter of the budget: there are no more of them than connections.
constexpr size_t kFree = 64 << 10;
// Bodies of which numbers are read while they arrive: shorter ones are there at once, and numbers
// may take twice the memory of a longer one.
constexpr size_t kLeastAhead = 64 << 10;
constexpr size_t kMostAhead = 16 << 20;

void take_from(MemoryBudget::Share& share, size_t bytes) {
  if (bytes <= kFree) return;
  share.require((bytes + kLargestRead - 1) / kLargestRead * kLargestRead);
}

}  // namespace

void IncomingBody::begin(size_t bytes, size_t json_bytes) {
  size_ = bytes;
  json_bytes_ = json_bytes;
  filled_ = 0;
  allocate(std::min(bytes, kFirstPart));
}

// Kernels read the first binary tensor where it arrives, if it is aligned as they like it.
void IncomingBody::allocate(size_t capacity) {
  auto larger = std::make_shared<Memory>();
  larger->bytes = std::make_unique_for_overwrite<char[]>(capacity + Tensor::kAlignment);
  larger->share = memory_ != nullptr ? std::move(memory_->share) : MemoryBudget::Share(budget_);
  const auto tensors = reinterpret_cast<uintptr_t>(larger->bytes.get()) + json_bytes_;
  const size_t begin = (Tensor::kAlignment - tensors % Tensor::kAlignment) % Tensor::kAlignment;
  if (filled_ > 0) std::memcpy(larger->bytes.get() + begin, memory_->bytes.get() + begin_, filled_);
  memory_ = std::move(larger);
  begin_ = begin;
  capacity_ = capacity;
  if (capacity_ == size_ && size_ >= kLeastAhead && size_ <= kMostAhead) {
    ahead_ = std::make_shared<EarlyNumbers>(size_);
    look_ahead();
  }
}

std::span<char> IncomingBody::room() {
  if (filled_ == capacity_) allocate(size_);
  const size_t want = std::min(capacity_ - filled_, kLargestRead);
  take_from(memory_->share, filled_ + want);
  return {memory_->bytes.get() + begin_ + filled_, want};
}

void IncomingBody::add(size_t bytes) {
  filled_ += bytes;
  look_ahead();
}

void IncomingBody::look_ahead() {
  if (ahead_ != nullptr && filled_ > 0) ahead_->feed({memory_->bytes.get() + begin_, filled_});
}

Body IncomingBody::take(std::shared_ptr<const EarlyNumbers>& ahead) {
  ahead = std::move(ahead_);
  const std::string_view bytes = memory_ == nullptr
                                     ? std::string_view()
                                     : std::string_view(memory_->bytes.get() + begin_, filled_);
  Body body(std::move(memory_), bytes);
  clear();
  return body;
}

void IncomingBody::count_chunks(const std::string& chunks) {
  if (chunks_share_.is_empty()) chunks_share_ = MemoryBudget::Share(budget_);
  take_from(chunks_share_, chunks.capacity());
}

Body IncomingBody::take_chunks(std::string chunks) {
  Body body(std::move(chunks), std::move(chunks_share_));
  clear();
  return body;
}

void IncomingBody::clear() {
  memory_ = nullptr;
  chunks_share_ = {};
  ahead_ = nullptr;
  begin_ = capacity_ = size_ = filled_ = json_bytes_ = 0;
}

}  // namespace trainyard::serve
