// Checksums: CRC-32C (Castagnoli) of TensorBoard's records, CRC-32 of zip files.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::runs {

uint32_t crc32c(std::string_view bytes);
// Rotated and shifted, as TensorFlow writes it: a record that holds checksums does not check
// itself.
uint32_t masked_crc32c(std::string_view bytes);
uint32_t crc32(std::string_view bytes);

}  // namespace trainyard::runs
