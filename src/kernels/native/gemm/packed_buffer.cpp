// Memory for constants a kernel packs once and reads in every run.
#include "kernels/native/gemm/packed_buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kCacheLine = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

PackedBuffer::PackedBuffer(int64_t floats) : size_(floats) {
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
  data_.reset(static_cast<float*>(memory));
}

void PackedBuffer::Free::operator()(float* data) const {
  std::free(data);
}

}  // namespace trainyard::kernels::native
