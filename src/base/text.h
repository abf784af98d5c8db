// Small text helpers: joining, nearest names for "did you mean", numbers for people.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

// Number of single-character edits from `a` to `b`.
int edit_distance(std::string_view a, std::string_view b);

// The names closest to `wanted`, best first; empty when nothing is near enough to be a slip.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names,
                                       size_t most = 3);

// " Did you mean a, b or c?" or nothing.
std::string did_you_mean(std::string_view wanted, std::span<const std::string> names);

// 1234567 -> "1,234,567".
std::string with_commas(int64_t number);

// 3.14159 -> "3.14"; a zero has no minus sign.
std::string fixed_text(double number, int digits);

// 25557032 -> "25.6M" (powers of 1000, three digits).
std::string si(double number);

// 574671232 -> "548 MiB" (powers of 1024, three digits).
std::string bytes_text(double bytes);

// Seconds for people: "12.3 us", "4.56 ms", "1.23 s", "12 min 5 s", "3 h 20 min".
std::string seconds_text(double seconds);

}  // namespace trainyard
