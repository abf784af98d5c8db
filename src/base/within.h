// Bounds of a number where a request enters.
#pragma once

#include <string_view>

#include "base/error.h"

namespace trainyard {

// Throws Error that names the number unless it is within both bounds; NaN is not.
template <typename T>
void require_within(std::string_view name, T value, T least, T most) {
  TY_REQUIRE(least <= value && value <= most, "{} is {}, expected {} to {}", name, value, least,
             most);
}

}  // namespace trainyard
