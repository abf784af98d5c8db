#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

namespace trainyard {
namespace {

// Three significant digits without an exponent: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  return fixed_text(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

template <size_t N>
std::string scaled(double value, double base, const std::array<std::string_view, N>& units,
                   std::string_view gap) {
  size_t unit = 0;
  // So that 999.9996 becomes 1.00K and not 1000.
  while (unit + 1 < N && std::fabs(value) >= base * 0.9995) {
    value /= base;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  return fmt::format("{}{}{}", whole ? fixed_text(value, 0) : three_digits(value), gap,
                     units[unit]);
}

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// Levenshtein's, with one row of the table.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names,
                                       size_t most) {
  std::vector<std::pair<int, std::string>> ranked;
  // A third of the letters may differ; short words get two.
  const int limit = std::max<int>(2, static_cast<int>(wanted.size()) / 3);
  for (const std::string& name : names) {
    // A name that merely continues what was typed is as good as one with a single slip.
    const bool continues = !wanted.empty() && name.find(wanted) != std::string::npos;
    const int distance = continues ? 1 : edit_distance(wanted, name);
    if (distance <= limit) ranked.emplace_back(distance, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> best;
  for (const auto& [distance, name] : ranked) {
    if (best.size() < most) best.push_back(name);
  }
  return best;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> names) {
  const std::vector<std::string> near = nearest_names(wanted, names);
  if (near.empty()) return "";
  std::string text = " Did you mean " + near[0];
  for (size_t i = 1; i < near.size(); ++i) text += (i + 1 < near.size() ? ", " : " or ") + near[i];
  return text + "?";
}

std::string with_commas(int64_t number) {
  std::string digits = fmt::format("{}", number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string fixed_text(double number, int digits) {
  std::string text = fmt::format("{:.{}f}", number, digits);
  // "-0.00" would look like a negative number.
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string si(double number) {
  static constexpr std::array<std::string_view, 6> kUnits = {"", "K", "M", "G", "T", "P"};
  return scaled(number, 1000.0, kUnits, "");
}

std::string bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1024.0, kUnits, " ");
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 1.0) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 120.0) return three_digits(seconds) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 7200) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace trainyard
