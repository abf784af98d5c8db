#include "program/count_list.h"

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::cli {
namespace {

int64_t parse_count(std::string_view text, const std::string& whole, const std::string& flag) {
  const auto value = parse_number<int64_t>(text);
  TY_REQUIRE(value && *value >= 1,
             "{} '{}': '{}' is no number above 0; expected a list as 2,4 or a range as 1..20", flag,
             whole, text);
  return *value;
}

}  // namespace

std::vector<int64_t> parse_counts(const std::string& text, const std::string& flag) {
  std::vector<int64_t> counts;
  for (const std::string& part : split(text, ',')) {
    const size_t dots = part.find("..");
    const int64_t first = parse_count(std::string_view(part).substr(0, dots), text, flag);
    const int64_t last = dots == std::string::npos
                             ? first
                             : parse_count(std::string_view(part).substr(dots + 2), text, flag);
    TY_REQUIRE(first <= last && last - first < 10'000, "{} '{}': a range of {} to {}", flag, text,
               first, last);
    for (int64_t count = first; count <= last; ++count) counts.push_back(count);
  }
  return counts;
}

}  // namespace trainyard::cli
