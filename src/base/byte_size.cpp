#include "base/byte_size.h"

#include "base/error.h"
#include "base/parse_number.h"

namespace trainyard {

int64_t parse_bytes(const std::string& text, const char* what) {
  std::string_view unit = text;
  const auto number = take_number<int64_t>(unit);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  TY_REQUIRE(number && shift >= 0 && *number >= 0 && *number <= INT64_MAX >> shift,
             "{}: '{}' is no size; expected bytes, or 64K, 4M, 1G", what, text);
  return *number << shift;
}

}  // namespace trainyard
