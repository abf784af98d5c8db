// Memory for constants a kernel packs once and reads in every run.
#include "kernels/native/gemm/packed_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

#include "base/content_pool.h"
#include "base/error.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

thread_local SharedBuffers* sharing = nullptr;

}  // namespace

PackedBuffer::PackedBuffer(int64_t floats) : block_(std::make_shared<Block>()) {
  const int64_t wanted = floats * static_cast<int64_t>(sizeof(float));
  const int64_t alignment = wanted >= kHugePage ? kHugePage : kCacheLine;
  const int64_t bytes = (wanted + kCacheLine - 1) / kCacheLine * kCacheLine;
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<size_t>(alignment), static_cast<size_t>(bytes)) != 0) {
    throw std::bad_alloc();
  }
  // Advice only: without huge pages the kernel is slower, not wrong.
  if (alignment == kHugePage) (void)madvise(memory, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  std::memset(memory, 0, static_cast<size_t>(bytes));
  block_->owner = std::shared_ptr<const void>(memory, [](void* data) { std::free(data); });
  block_->data = static_cast<float*>(memory);
  block_->floats = floats;
  if (sharing != nullptr) sharing->made_.push_back(block_);
}

SharedBuffers::SharedBuffers() {
  TY_CHECK(sharing == nullptr, "two SharedBuffers at a time");
  sharing = this;
}

SharedBuffers::~SharedBuffers() {
  sharing = nullptr;
}

bool SharedBuffers::active() {
  return sharing != nullptr;
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
