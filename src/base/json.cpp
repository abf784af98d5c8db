#include "base/json.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"

namespace trainyard {
namespace {

// Control characters must be escaped; all else is written as it is. Text is UTF-8 here.
void write_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
}

// Names from files may be any bytes; JSON is UTF-8 always.
void write_text(std::string& out, std::string_view text) {
  out += '"';
  if (is_utf8(text)) {
    write_escaped(out, text);
  } else {
    write_escaped(out, made_utf8(text));
  }
  out += '"';
}

// JSON has no infinities: they become null, as in every strict writer. -0 would be read as the
// whole number, which has no sign.
void write_number(std::string& out, double value) {
  if (value == 0 && std::signbit(value)) {
    out += "-0.0";
  } else {
    out += std::isfinite(value) ? fmt::format("{}", value) : "null";
  }
}

// Deeper nesting than this is an attack or an accident; reading, writing and destruction recurse.
constexpr int kMaxDepth = 200;

}  // namespace

// Beyond int64_t a number loses its last digits, as in JavaScript.
Json::Json(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = static_cast<double>(value);
  }
}

Json Json::object() {
  Json value;
  value.value_ = Object{};
  return value;
}

Json Json::object(std::initializer_list<Member> members) {
  Json value;
  value.value_ = Object(members);
  return value;
}

Json Json::object_of(Object members) {
  Json value;
  value.value_ = std::move(members);
  return value;
}

bool Json::as_bool() const {
  TY_REQUIRE(is_bool(), "expected true or false, found {}", dump(-1));
  return std::get<bool>(value_);
}

int64_t Json::as_int() const {
  TY_REQUIRE(is_int(), "expected a whole number, found {}", dump(-1));
  return std::get<int64_t>(value_);
}

double Json::as_number() const {
  TY_REQUIRE(is_number(), "expected a number, found {}", dump(-1));
  return is_int() ? static_cast<double>(std::get<int64_t>(value_)) : std::get<double>(value_);
}

const std::string& Json::as_string() const {
  TY_REQUIRE(is_string(), "expected text, found {}", dump(-1));
  return std::get<std::string>(value_);
}

const Json::Array& Json::items() const {
  TY_REQUIRE(is_array(), "expected a list, found {}", dump(-1));
  return std::get<Array>(value_);
}

const Json::Object& Json::members() const {
  TY_REQUIRE(is_object(), "expected an object, found {}", dump(-1));
  return std::get<Object>(value_);
}

void Json::push_back(Json item) {
  if (is_null()) value_ = Array{};
  TY_CHECK(is_array(), "push_back on {}", dump(-1));
  std::get<Array>(value_).push_back(std::move(item));
}

// Members keep the order in which they were added; objects here are small enough to search.
Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  TY_CHECK(is_object(), "member {} of {}", key, dump(-1));
  auto& members = std::get<Object>(value_);
  for (auto& [name, value] : members) {
    if (name == key) return value;
  }
  return members.emplace_back(std::string(key), Json()).second;
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const auto& [name, value] : std::get<Object>(value_)) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  TY_REQUIRE(found != nullptr, "'{}' is missing", key);
  return *found;
}

void Json::write(std::string& out, int indent, int depth) const {
  const auto newline = [&](int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
  };
  if (is_null()) {
    out += "null";
  } else if (is_bool()) {
    out += std::get<bool>(value_) ? "true" : "false";
  } else if (is_int()) {
    out += fmt::format("{}", std::get<int64_t>(value_));
  } else if (is_number()) {
    write_number(out, std::get<double>(value_));
  } else if (is_string()) {
    write_text(out, std::get<std::string>(value_));
  } else if (is_array()) {
    const auto& items = std::get<Array>(value_);
    // Lists of plain values stay on one line.
    bool flat = true;
    for (const Json& item : items) flat = flat && !item.is_array() && !item.is_object();
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += flat && indent >= 0 ? ", " : ",";
      if (!flat) newline(depth + 1);
      items[i].write(out, indent, depth + 1);
    }
    if (!flat) newline(depth);
    out += ']';
  } else {
    const auto& members = std::get<Object>(value_);
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      newline(depth + 1);
      write_text(out, members[i].first);
      out += indent < 0 ? ":" : ": ";
      members[i].second.write(out, indent, depth + 1);
    }
    if (!members.empty()) newline(depth);
    out += '}';
  }
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0);
  return out;
}

Json Json::parse(std::string_view text, std::string_view origin) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string invalid = fmt::format("{}: not valid JSON", origin);
  JsonReader reader(text, invalid, {.max_depth = kMaxDepth, .by_line = true});
  Json tree = reader.value();
  reader.finish();
  return tree;
}

}  // namespace trainyard
