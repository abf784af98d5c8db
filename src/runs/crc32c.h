// CRC-32C (Castagnoli), the checksum of TensorBoard's records.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::runs {

uint32_t crc32c(std::string_view bytes);

}  // namespace trainyard::runs
