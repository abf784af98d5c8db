// States that are a list of numbers, as JSON.
#pragma once

#include <span>

#include "base/error.h"
#include "base/json.h"

namespace trainyard::rl {

// Throws Error unless there are as many as expected.
inline void read_numbers(const Json& state, std::span<double> to, const char* game) {
  TY_REQUIRE(state.is_array() && state.items().size() == to.size(),
             "a state of {} is {} numbers, found {}", game, to.size(), state.dump(-1));
  for (size_t i = 0; i < to.size(); ++i) to[i] = state.items()[i].as_number();
}

}  // namespace trainyard::rl
