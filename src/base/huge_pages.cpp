#include "base/huge_pages.h"

#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace trainyard {

std::shared_ptr<void> map_huge_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  TY_CHECK(bytes > 0, "no memory asked for");
  if (bytes > SIZE_MAX - kHugePage - page) throw std::bad_alloc();
  const size_t kept = (bytes + page - 1) / page * page;
  const size_t mapped = kept + kHugePage;  // an aligned part is in it
  void* const all =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  char* const first = static_cast<char*>(all);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(all) % kHugePage) % kHugePage;
  char* const begin = first + before;
  if (before > 0) munmap(first, before);
  munmap(begin + kept, mapped - before - kept);
  (void)madvise(begin, kept, MADV_HUGEPAGE);
  return {begin, [kept](void* data) { munmap(data, kept); }};
}

}  // namespace trainyard
