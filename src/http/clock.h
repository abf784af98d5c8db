// By which requests are timed.
#pragma once

#include <chrono>

namespace trainyard::serve {

using Clock = std::chrono::steady_clock;

}  // namespace trainyard::serve
