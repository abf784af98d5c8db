// Sizes of memory as people write them: 4096, 64K, 4M, 1G.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

// Bytes, not negative. Throws Error naming `what`.
int64_t parse_bytes(const std::string& text, const char* what);

}  // namespace trainyard
