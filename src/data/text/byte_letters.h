// How files of byte-level tokenizers write bytes: each as a letter that can be printed, as GPT-2
// has them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard::data {

// The bytes in the order of their letters, which is the order of GPT-2's first 256 tokens.
const std::array<uint8_t, 256>& bytes_by_letter();

std::string to_letters(std::string_view bytes);
// No value: a character of it stands for no byte.
std::optional<std::string> from_letters(std::string_view letters);

}  // namespace trainyard::data
