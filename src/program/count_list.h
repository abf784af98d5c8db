// Numbers of workers and the like on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::cli {

// "1..20", "2,4" or both: "1,2,4..8". `flag` names it in errors. Throws Error for anything else,
// for numbers below 1 and for more than 10,000 of them.
std::vector<int64_t> parse_counts(const std::string& text, const std::string& flag);

}  // namespace trainyard::cli
