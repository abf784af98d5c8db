// Counts that come from files and flags: arithmetic that refuses what 64 bits cannot hold.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace trainyard {

// Throws Error above 2^59, so that a few such numbers can be added up without a thought.
int64_t checked_product(std::initializer_list<int64_t> factors);

// Adds to `sum`; throws Error where it would leave 2^62.
void checked_add(int64_t& sum, int64_t part);

}  // namespace trainyard
