// Work that may be endless or huge, in a process of its own with limits on time and memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace trainyard::lab {

struct Limits {
  int seconds = 1;                          // of computing
  size_t memory_bytes = size_t{512} << 20;  // beyond what this process has
  size_t result_bytes = size_t{16} << 20;
};

// What `work` returns, computed in a copy of this process (fork), which must have no other threads.
// An Error that it throws is thrown here; one is thrown too, naming `where`, if a limit is reached
// or the copy crashes.
std::string run_limited(const std::function<std::string()>& work, const std::string& where,
                        const Limits& limits = {});

}  // namespace trainyard::lab
