#include "base/structured_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <regex>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard {
namespace {

constexpr size_t kIndent = 2;

// What stands on one line.
bool is_leaf(const Json& value) {
  if (value.is_object()) return value.members().empty();
  if (!value.is_array()) return true;
  return std::none_of(value.items().begin(), value.items().end(),
                      [](const Json& item) { return item.is_array() || item.is_object(); });
}

// What every YAML reader takes for text without quotes: no indicator, number, date or word such as
// yes, null or on.
bool is_plain(const std::string& text) {
  static const std::regex kPlain("[A-Za-z/][A-Za-z0-9_./@-]*");
  static const std::regex kWord("y|n|yes|no|on|off|true|false|null",
                                std::regex::ECMAScript | std::regex::icase);
  constexpr size_t kLongest = 200;
  return text.size() <= kLongest && std::regex_match(text, kPlain) &&
         !std::regex_match(text, kWord);
}

struct UnsafeCharacter {
  unsigned code = 0;
  size_t bytes = 0;  // 0: the text begins with another character
};

// A character that some YAML reader takes for a line break, refuses or drops if it stands as it is:
// controls from U+007F to U+009F (U+0085 is a line break), the line breaks U+2028 and U+2029, the
// byte order mark U+FEFF, U+FFFE and U+FFFF.
UnsafeCharacter escapable(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  if (byte(0) == 0x7f) return {0x7f, 1};
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return {byte(1), 2};
  const unsigned three = byte(0) << 16U | byte(1) << 8U | byte(2);
  switch (three) {
    case 0xe280a8:
      return {0x2028, 3};
    case 0xe280a9:
      return {0x2029, 3};
    case 0xefbbbf:
      return {0xfeff, 3};
    case 0xefbfbe:
      return {0xfffe, 3};
    case 0xefbfbf:
      return {0xffff, 3};
    default:
      return {};
  }
}

// JSON text, in which such characters stand within quotes only, so that an escape means the same.
std::string escaped(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const UnsafeCharacter found = escapable(json);
    if (found.bytes > 0) {
      out += fmt::format("\\u{:04x}", found.code);
    } else {
      out += json.front();
    }
    json.remove_prefix(std::max<size_t>(1, found.bytes));
  }
  return out;
}

std::string yaml_scalar(const Json& value) {
  if (value.is_string() && is_plain(value.as_string())) return value.as_string();
  return escaped(value.is_array() ? value.dump(kIndent) : value.dump(-1));
}

std::string yaml_key(const std::string& key) {
  return yaml_scalar(Json(key));
}

// Only a line feed may end a line of a block, and no character of it can be escaped.
bool shows_as_it_is(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    const bool control = text[0] != '\n' && static_cast<unsigned char>(text[0]) < 0x20;
    if (control || escapable(text).bytes > 0) return false;
  }
  return true;
}

// A text of several lines that a block ("|") shows as it is.
bool is_block(const Json& value) {
  if (!value.is_string()) return false;
  const std::string& text = value.as_string();
  // Leading blanks would need an indentation indicator, several line ends at the end a "+".
  return text.find('\n') != std::string::npos && text.front() != ' ' && text.front() != '\n' &&
         text.back() == '\n' && !text.ends_with("\n\n") && shows_as_it_is(text);
}

// Each line knows its path, so that a finding or a mark can point to it.
class YamlLines {
 public:
  void members(const Json& object, const std::string& path, size_t depth) {
    for (const auto& [key, value] : object.members()) {
      member(yaml_key(key) + ":", value, member_path(path, key), depth);
    }
  }

  void scalar(const Json& value) { add(0, yaml_scalar(value), ""); }

  void items(const Json& array, const std::string& path, size_t depth) {
    for (size_t i = 0; i < array.items().size(); ++i) {
      const Json& item = array.items()[i];
      const std::string item_at = item_path(path, i);
      if (is_leaf(item) || !item.is_object()) {
        member("-", item, item_at, depth);
        continue;
      }
      // The first member stands behind the dash.
      const size_t first = lines_.size();
      members(item, item_at, depth + 1);
      // Two columns deeper by kIndent, so the dash and a blank fit in front.
      lines_[first].text[depth * kIndent] = '-';
    }
  }

  std::vector<StructuredLine> take() { return std::move(lines_); }

 private:
  void member(const std::string& head, const Json& value, const std::string& path, size_t depth) {
    if (is_block(value)) {
      add(depth, head + " |", path);
      const std::string& text = value.as_string();
      for (const std::string& line : split(text.substr(0, text.size() - 1), '\n')) {
        add(line.empty() ? 0 : depth + 1, line, path);
      }
    } else if (is_leaf(value)) {
      add(depth, head + " " + yaml_scalar(value), path);
    } else {
      add(depth, head, path);
      if (value.is_object()) members(value, path, depth + 1);
      if (value.is_array()) items(value, path, depth + 1);
    }
  }

  void add(size_t depth, const std::string& text, std::string path) {
    lines_.push_back({std::string(depth * kIndent, ' ') + text, std::move(path)});
  }

  std::vector<StructuredLine> lines_;
};

void add_json(const Json& value, const std::string& head, const std::string& tail,
              const std::string& path, size_t depth, std::vector<StructuredLine>& lines) {
  const std::string space(depth * kIndent, ' ');
  if (is_leaf(value)) {
    lines.push_back({space + head + escaped(value.dump(kIndent)) + tail, path});
    return;
  }
  lines.push_back({space + head + (value.is_array() ? "[" : "{"), path});
  if (value.is_array()) {
    for (size_t i = 0; i < value.items().size(); ++i) {
      add_json(value.items()[i], "", i + 1 < value.items().size() ? "," : "", item_path(path, i),
               depth + 1, lines);
    }
  } else {
    for (size_t i = 0; i < value.members().size(); ++i) {
      const auto& [key, member] = value.members()[i];
      add_json(member, escaped(Json(key).dump(-1)) + ": ",
               i + 1 < value.members().size() ? "," : "", member_path(path, key), depth + 1, lines);
    }
  }
  lines.push_back({space + (value.is_array() ? "]" : "}") + tail, path});
}

// The step at the front of a path, taken off it.
std::string next_key(std::string_view& path, bool& is_index) {
  is_index = path.starts_with('[') && !path.starts_with("[\"");
  if (path.starts_with("[\"")) {
    const size_t end = path.find("\"]");
    TY_CHECK(end != std::string_view::npos, "path '{}'", path);
    std::string key(path.substr(2, end - 2));
    path.remove_prefix(end + 2);
    return key;
  }
  if (is_index) {
    const size_t end = path.find(']');
    TY_CHECK(end != std::string_view::npos, "path '{}'", path);
    std::string key(path.substr(1, end - 1));
    path.remove_prefix(end + 1);
    return key;
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  const size_t end = std::min(path.find_first_of(".["), path.size());
  std::string key(path.substr(0, end));
  path.remove_prefix(end);
  return key;
}

}  // namespace

std::vector<StructuredLine> yaml_lines(const Json& value) {
  YamlLines lines;
  if (is_leaf(value)) {
    lines.scalar(value);
  } else if (value.is_object()) {
    lines.members(value, "", 0);
  } else {
    lines.items(value, "", 0);
  }
  return lines.take();
}

std::vector<StructuredLine> json_lines(const Json& value) {
  std::vector<StructuredLine> lines;
  add_json(value, "", "", "", 0, lines);
  return lines;
}

std::string text_of(const std::vector<StructuredLine>& lines) {
  std::string text;
  for (const StructuredLine& line : lines) text += line.text + "\n";
  return text;
}

// Keys with a dot or a bracket are quoted, so that a path can be taken apart again.
std::string member_path(std::string_view path, std::string_view key) {
  if (key.find_first_of(".[") != std::string_view::npos) {
    return fmt::format("{}[\"{}\"]", path, key);
  }
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string item_path(std::string_view path, size_t index) {
  return fmt::format("{}[{}]", path, index);
}

void set_at_path(Json& root, std::string_view path, Json value) {
  if (path.empty()) {
    root = std::move(value);
    return;
  }
  bool is_index = false;
  const std::string key = next_key(path, is_index);
  if (!is_index) {
    set_at_path(root[key], path, std::move(value));
    return;
  }
  size_t index = 0;
  std::from_chars(key.data(), key.data() + key.size(), index);
  Json::Array items = root.is_null() ? Json::Array() : root.items();
  if (items.size() <= index) items.resize(index + 1);
  set_at_path(items[index], path, std::move(value));
  root = Json(std::move(items));
}

}  // namespace trainyard
