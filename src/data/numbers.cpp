#include "data/numbers.h"

#include <cmath>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::data {

int64_t parse_whole(std::string_view text, int64_t least, int64_t most, std::string_view what) {
  const auto value = parse_number<int64_t>(text);
  TY_REQUIRE(value && least <= *value && *value <= most,
             "{}: '{}' is not a whole number from {} to {}", what, text, least, most);
  return *value;
}

double parse_real(std::string_view text, double least, double most, std::string_view what) {
  const auto value = parse_number<double>(text);
  TY_REQUIRE(value && least <= *value && *value <= most, "{}: '{}' is not a number from {} to {}",
             what, text, least, most);
  return *value;
}

std::vector<double> parse_reals(std::string_view text, double least, double most,
                                std::string_view what) {
  std::vector<double> values;
  for (const std::string& part : split(text, '/')) {
    values.push_back(parse_real(part, least, most, what));
  }
  return values;
}

Size parse_size(std::string_view text, std::string_view what) {
  const size_t by = text.find('x');
  const int64_t height = parse_whole(text.substr(0, by), 1, kLargestSide, what);
  if (by == std::string_view::npos) return {height, height};
  return {height, parse_whole(text.substr(by + 1), 1, kLargestSide, what)};
}

}  // namespace trainyard::data
