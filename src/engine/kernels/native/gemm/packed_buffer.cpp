// Memory for constants a kernel packs once and reads in every run.
#include "engine/kernels/native/gemm/packed_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/content_pool.h"
#include "base/error.h"
#include "base/huge_pages.h"

namespace trainyard::kernels::native {
namespace {

constexpr size_t kCacheLine = 64;

thread_local SharedBuffers* sharing = nullptr;

std::shared_ptr<void> zeros(size_t bytes) {
  if (bytes >= kHugePage) return map_huge_pages(bytes);
  const size_t lines = (bytes + kCacheLine - 1) / kCacheLine;
  void* memory = nullptr;
  if (posix_memalign(&memory, kCacheLine, lines * kCacheLine) != 0) throw std::bad_alloc();
  std::memset(memory, 0, lines * kCacheLine);
  return {memory, [](void* data) { std::free(data); }};
}

}  // namespace

PackedBuffer::PackedBuffer(int64_t floats) : block_(std::make_shared<Block>()) {
  std::shared_ptr<void> memory = zeros(static_cast<size_t>(floats) * sizeof(float));
  block_->data = static_cast<float*>(memory.get());
  block_->owner = std::move(memory);
  block_->floats = floats;
  if (sharing != nullptr) sharing->made_.push_back(block_);
}

SharedBuffers::SharedBuffers(bool compact) : compact_(compact) {
  TY_CHECK(sharing == nullptr, "two SharedBuffers at a time");
  sharing = this;
}

SharedBuffers::~SharedBuffers() {
  sharing = nullptr;
}

bool SharedBuffers::active() {
  return sharing != nullptr;
}

bool SharedBuffers::compact() {
  return active() && sharing->compact_;
}

void SharedBuffers::share() {
  static ContentPool pool;
  for (const auto& weak : made_) {
    const auto block = weak.lock();
    if (block == nullptr) continue;
    const ContentPool::Shared shared =
        pool.share(block->owner, block->data, static_cast<size_t>(block->floats) * sizeof(float));
    block->owner = shared.owner;
    block->data = const_cast<float*>(static_cast<const float*>(shared.data));
  }
  made_.clear();
}

}  // namespace trainyard::kernels::native
