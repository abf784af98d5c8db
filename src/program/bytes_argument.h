// Bytes on the command line: 4096, 64K, 4M, 1G.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::cli {

// Not negative. Throws Error naming `flag`.
int64_t parse_bytes(const std::string& text, const char* flag);

}  // namespace trainyard::cli
