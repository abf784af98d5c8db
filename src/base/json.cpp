#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace trainyard {
namespace {

// Control characters must be escaped; all else, UTF-8 included, is written as it is.
void write_text(std::string& out, std::string_view text) {
  out += '"';
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

// Deeper nesting than this is an attack or an accident; writing and destruction recurse.
constexpr size_t kMaxDepth = 200;

// Two members of one name are read differently by different programs, which attackers use.
void require_different_keys(const Json::Object& members) {
  std::vector<std::string_view> keys;
  keys.reserve(members.size());
  for (const auto& [key, value] : members) keys.emplace_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  TY_REQUIRE(twice == keys.end(), "key '{}' appears twice", *twice);
}

// Builds the tree from nlohmann's events, without a copy of its own in between.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*size*/) override { return open(true); }
  bool start_array(size_t /*size*/) override { return open(false); }
  bool key(std::string& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override {
    Level level = close();
    require_different_keys(level.members);
    return add(Json::object_of(std::move(level.members)));
  }
  bool end_array() override { return add(Json(close().items)); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& problem) override {
    throw_error("{}", problem.what());
  }

  Json take() { return std::move(root_); }

 private:
  struct Level {
    bool is_object = false;
    std::string key = {};  // of the member that comes next
    Json::Object members = {};
    Json::Array items = {};
  };

  bool open(bool is_object) {
    TY_REQUIRE(open_.size() < kMaxDepth, "nested more than {} levels deep", kMaxDepth);
    open_.push_back({is_object});
    return true;
  }
  Level close() {
    Level level = std::move(open_.back());
    open_.pop_back();
    return level;
  }
  // Inlined, g++ 12 warns of alternatives of the value that are not there.
  [[gnu::noinline]] bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Level> open_;
  Json root_;
};

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
  JsonBuilder builder;
  try {
    nlohmann::json::sax_parse(text, &builder);
  } catch (const Error& problem) {
    throw_error("{}: not valid JSON: {}", origin, problem.what());
  }
  return builder.take();
}

}  // namespace trainyard
