#include "serve/models/idle_memory.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace trainyard::serve {
namespace {

constexpr int kLarge = 32 << 20;
constexpr int kSmall = 128 << 10;

}  // namespace

void forget_pages(void* data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + page - 1) / page * page;
  const uintptr_t end = (address + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void keep_large_blocks() {
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

// malloc_trim() leaves the free end of another thread's heap alone. A block that is freed there
// takes it along, if it is larger than the threshold.
void give_back_freed_memory() {
  malloc_trim(0);
  mallopt(M_TRIM_THRESHOLD, kSmall);
  void* volatile block = std::malloc(2 * kSmall);
  std::free(block);
  mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

void forget_what_loading_needed() {
  malloc_trim(0);
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool file_alone = false;  // read-only pages of a file
  while (std::getline(maps, line)) {
    uintptr_t from = 0;
    uintptr_t to = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) == 3) {
      begin = from;
      end = to;
      file_alone = rights[0] == 'r' && rights[1] == '-' && rights[3] == 'p' &&
                   line.find(" /") != std::string::npos;
      continue;
    }
    // A page that was written to, by the dynamic linker or a debugger, is in no file.
    unsigned written = 0;
    if (file_alone && std::sscanf(line.c_str(), "Anonymous: %u kB", &written) == 1 &&
        written == 0) {
      forget_pages(reinterpret_cast<void*>(begin), end - begin);
    }
  }
}

}  // namespace trainyard::serve
