// Texts of people as HTML.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "report/html.h"

namespace trainyard::report {
namespace {

constexpr std::string_view kUnits[] = {"%",   "s",   "ms",  "us",   "min",    "h",      "W",
                                       "KiB", "MiB", "GiB", "GB/s", "GFLOPs", "GFLOP/s"};

// Whether the space at `at` stands between a number and its unit, as in "68.2 %".
bool is_before_unit(std::string_view text, size_t at) {
  if (at == 0 || std::isdigit(static_cast<unsigned char>(text[at - 1])) == 0) return false;
  const std::string_view after = text.substr(at + 1);
  return std::any_of(std::begin(kUnits), std::end(kUnits), [&](std::string_view unit) {
    if (!after.starts_with(unit)) return false;
    const std::string_view rest = after.substr(unit.size());
    return rest.empty() || (std::isalnum(static_cast<unsigned char>(rest[0])) == 0 &&
                            rest[0] != '/' && rest[0] != '_');
  });
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string marked_html(std::string_view text) {
  constexpr std::string_view kNoBreakSpace = "\u00a0";
  std::string out;
  bool code = false;
  bool strong = false;
  const std::string escaped = html_escaped(text);
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '`') {
      out += code ? "</code>" : "<code>";
      code = !code;
    } else if (!code && escaped.compare(i, 2, "**") == 0) {
      out += strong ? "</strong>" : "<strong>";
      strong = !strong;
      ++i;
    } else if (!code && escaped[i] == ' ' && is_before_unit(escaped, i)) {
      out += kNoBreakSpace;
    } else {
      out += escaped[i];
    }
  }
  if (code) out += "</code>";
  if (strong) out += "</strong>";
  return out;
}

std::vector<std::string> list_items(std::string_view text) {
  std::vector<std::string> items;
  if (!text.starts_with("- ")) return items;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("- ")) {
      items.push_back(line.substr(2));
    } else {
      items.back() += " " + line;
    }
  }
  return items;
}

}  // namespace trainyard::report
