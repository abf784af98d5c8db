// The formats behind read_unpacked(), each in its own file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard::data {

inline constexpr size_t kMostUnpacked = size_t{1} << 31;

// Errors begin with `origin`: data that is cut short, damaged or becomes larger than kMostUnpacked.
std::string unpack_gzip(std::string_view packed, const std::string& origin);
// One frame or several.
std::string unpack_zstd(std::string_view packed, const std::string& origin);

}  // namespace trainyard::data
