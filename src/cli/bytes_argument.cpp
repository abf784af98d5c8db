#include "cli/bytes_argument.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::cli {

int64_t parse_bytes(const std::string& text, const char* flag) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  const std::string unit(stop, end);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  TY_REQUIRE(failure == std::errc() && shift >= 0 && number >= 0 && number <= INT64_MAX >> shift,
             "{}: '{}' is no size; expected bytes, or 64K, 4M, 1G", flag, text);
  return number << shift;
}

}  // namespace trainyard::cli
