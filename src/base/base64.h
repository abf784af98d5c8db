// Bytes as text of 64 letters (RFC 4648).
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

std::string to_base64(std::string_view bytes);
// Throws Error for other letters or a length that cannot be; padding may be left out.
std::string from_base64(std::string_view text);

}  // namespace trainyard
