// Secrets that stand in a file in plain text.
#pragma once

#include <string>

namespace trainyard::jobs {

// Why `value` of the variable or field `name` looks like a secret; empty if it does not.
std::string secret_suspicion(const std::string& name, const std::string& value);

}  // namespace trainyard::jobs
