// How often the test program has called operator new.
#pragma once

#include <cstdint>

namespace trainyard::data {

int64_t count_allocations();

}  // namespace trainyard::data
