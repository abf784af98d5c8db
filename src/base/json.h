// A JSON value: built by reports and configuration, written by us, parsed by JsonReader
// (json_reader.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

// Objects keep the order in which keys were added, so that output is stable and reads as it was
// written.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(int64_t{value}) {}
  Json(int64_t value) : value_(value) {}
  // Above the range of int64_t it becomes a double.
  Json(uint64_t value);
  Json(double value) : value_(value) {}
  Json(const std::optional<double>& value) {
    if (value) value_ = *value;
  }
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(Array items) : value_(std::move(items)) {}

  static Json array() { return Json(Array{}); }
  static Json object();
  static Json object(std::initializer_list<Member> members);
  // Keys must differ.
  static Json object_of(Object members);
  template <typename Range>
  static Json array_of(const Range& range) {
    Array items;
    for (const auto& item : range) items.emplace_back(item);
    return Json(std::move(items));
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // These throw Error when the value is of another kind.
  bool as_bool() const;
  int64_t as_int() const;
  double as_number() const;
  const std::string& as_string() const;
  const Array& items() const;
  const Object& members() const;

  // Appends to an array; a null becomes an array first.
  void push_back(Json item);
  // The member `key`, added as null if it is not there; a null becomes an object first.
  Json& operator[](std::string_view key);
  // Null pointer if there is no such member.
  const Json* find(std::string_view key) const;
  // Throws Error if there is no such member.
  const Json& at(std::string_view key) const;

  // indent < 0: one line.
  std::string dump(int indent = 2) const;
  // `origin` names the text in errors, which give line and column. Refuses a key that appears twice
  // in an object, nesting of more than 200 levels and what is not UTF-8.
  static Json parse(std::string_view text, std::string_view origin);

 private:
  void write(std::string& out, int indent, int depth) const;

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace trainyard
