// The search for the first result that is not a number.
#pragma once

#include <string>

#include "engine/executable.h"

namespace trainyard::runtime {

// Runs the steps [begin, end) of `context` again, alone, and returns the name of the first node
// that makes a NaN or an infinity; "" if none does. Leaves the context without an observer.
std::string find_first_bad(ExecutionContext& context, size_t begin, size_t end);

}  // namespace trainyard::runtime
