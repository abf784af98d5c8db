// The same work on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace trainyard::data {

// Calls `work` on so many threads, of which the caller's is one, and waits for all. Throws what one
// of them threw.
void run_threads(int64_t threads, const std::function<void()>& work);

}  // namespace trainyard::data
