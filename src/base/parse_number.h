// A number out of text: the one way to read it where nothing but the number may stand there.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace trainyard {

// The number that `text` begins with, taken off it; no value, and `text` as it was, if there is
// none or T cannot hold it. There is no plus sign and no white space in front.
template <typename T>
std::optional<T> take_number(std::string_view& text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// All of `text` as a number.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  const std::optional<T> value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace trainyard
