// Indices that come as data, for the gathering and scattering operators.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace trainyard::ops {

// An index in [-size, size) as one in [0, size); Error otherwise.
inline int64_t checked_index(int64_t index, int64_t size) {
  TY_REQUIRE(-size <= index && index < size, "index {} is outside {} entries", index, size);
  return index < 0 ? index + size : index;
}

}  // namespace trainyard::ops
