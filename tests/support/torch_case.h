// The same cases on libtorch, where its plugin is there.
#pragma once

#include <optional>
#include <vector>

#include "support/op_case.h"

namespace trainyard::testing {

// Whether the environment asks for it (TRAINYARD_TEST_TORCH): opening libtorch takes a moment.
bool asks_for_torch();
// What the plugin's kernel gives for the case on torch:cpu; nothing if there is none or if it
// refuses.
std::optional<std::vector<Tensor>> run_on_torch(const PreparedCase& p);

}  // namespace trainyard::testing
