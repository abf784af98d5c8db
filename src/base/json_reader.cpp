#include "base/json_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/number_list.h"
#include "base/printable.h"

namespace trainyard {
namespace {

constexpr int kMostTens = 22;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// Whether all eight bytes are digits, and their value: four multiplications instead of eight.
bool eight_digits(const char* at, uint64_t& value) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, 8);
  const uint64_t high = bytes & 0xf0f0f0f0f0f0f0f0ULL;
  const uint64_t carried = (bytes + 0x0606060606060606ULL) & 0xf0f0f0f0f0f0f0f0ULL;
  if (high != 0x3030303030303030ULL || carried != high) return false;
  bytes &= 0x0f0f0f0f0f0f0f0fULL;
  bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffULL;
  bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffULL;
  value = (bytes * 10000 + (bytes >> 32)) & 0xffffffffULL;
  return true;
}

// How many of the eight bytes at `at` are digits, from the first on, and their value. Without a
// branch that depends on the count, which nothing could predict.
unsigned leading_digits(const char* at, uint64_t& value) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, 8);
  // Of a digit's byte the high half is 3, and stays so when 6 is added.
  const uint64_t wrong =
      ((bytes & 0xf0f0f0f0f0f0f0f0ULL) ^ 0x3030303030303030ULL) |
      (((bytes + 0x0606060606060606ULL) & 0xf0f0f0f0f0f0f0f0ULL) ^ 0x3030303030303030ULL);
  const auto count = wrong == 0 ? 8U : static_cast<unsigned>(std::countr_zero(wrong)) / 8;
  // The digits as the last of eight, after zeros.
  bytes = count == 0 ? 0 : bytes << (8 * (8 - count));
  bytes &= 0x0f0f0f0f0f0f0f0fULL;
  bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffULL;
  bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffULL;
  value = (bytes * 10000 + (bytes >> 32)) & 0xffffffffULL;
  return count;
}

constexpr uint64_t kWholeTens[] = {1,       10,        100,        1'000,      10'000,
                                   100'000, 1'000'000, 10'000'000, 100'000'000};

// A number without an exponent and with at most 19 digits, which nearly all are; false, with `at`
// anywhere, for any other. `at` has kFastBytes to read.
constexpr ptrdiff_t kFastBytes = 40;
bool fast_f32(const char*& at, float& out) {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* const begin = at;
  uint64_t digits = 0;
  while (is_digit(*at) && at - begin < 3) digits = digits * 10 + static_cast<uint64_t>(*at++ - '0');
  const ptrdiff_t whole = at - begin;
  if (whole == 0 || (*begin == '0' && whole > 1)) return false;
  ptrdiff_t fraction = 0;
  if (*at == '.') {
    uint64_t part = 0;
    const unsigned first = leading_digits(++at, part);
    digits = digits * kWholeTens[first] + part;
    if (first == 8) {
      const unsigned second = leading_digits(at + 8, part);
      digits = digits * kWholeTens[second] + part;
      fraction = 8 + second;
    } else {
      fraction = first;
    }
    at += fraction;
    if (fraction == 0) return false;
  }
  if (is_digit(*at) || *at == 'e' || *at == 'E') return false;
  const double value = static_cast<double>(digits) / kTens[fraction];
  out = static_cast<float>(negative ? -value : value);
  return true;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string_view origin)
    : JsonReader(text, origin, Options{}) {}

void JsonReader::fail_at(size_t position, std::string_view problem) const {
  if (!options_.by_line) {
    throw_error("{}: {} at byte {}", origin_, problem, position + options_.first_byte);
  }
  const std::string_view before(begin_, position);
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? position + 1 : position - newline;
  throw_error("{}: {} at line {}, column {}", origin_, problem,
              1 + std::count(before.begin(), before.end(), '\n'), column);
}

void JsonReader::skip_space() {
  while (at_ != end_ && is_space(*at_)) ++at_;
}

char JsonReader::next_char() {
  skip_space();
  if (at_ == end_) fail("the JSON ends too early");
  return *at_;
}

void JsonReader::expect(char c) {
  if (next_char() != c) fail(fmt::format("expected '{}', found '{}'", c, *at_));
  ++at_;
}

void JsonReader::literal(std::string_view word) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
    fail(fmt::format("expected '{}'", word));
  }
  at_ += word.size();
}

JsonReader::Kind JsonReader::peek() {
  switch (const char c = next_char()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kText;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      if (c == '-' || is_digit(c)) return Kind::kNumber;
      fail(fmt::format("expected a value, found '{}' (JSON has no NaN, Infinity or comments)", c));
  }
}

void JsonReader::enter() {
  if (++depth_ > options_.max_depth) {
    fail(fmt::format("JSON nesting depth exceeds maximum allowed limit ({})", options_.max_depth));
  }
  first_ = true;
}

bool JsonReader::next_element(char close) {
  const char c = next_char();
  if (c == close) {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (c != ',') fail(fmt::format("expected ',' or '{}', found '{}'", close, c));
    ++at_;
    if (next_char() == close) fail("a comma before the end");
  }
  first_ = false;
  return true;
}

void JsonReader::enter_object() {
  if (peek() != Kind::kObject) fail("expected an object");
  ++at_;
  enter();
}

bool JsonReader::next_key(std::string& key) {
  if (!next_element('}')) return false;
  if (next_char() != '"') fail("expected a key in quotes");
  key = text();
  expect(':');
  return true;
}

void JsonReader::enter_array() {
  if (peek() != Kind::kArray) fail("expected an array");
  ++at_;
  enter();
}

bool JsonReader::next_item() {
  return next_element(']');
}

uint32_t JsonReader::hex4() {
  uint32_t code = 0;
  if (end_ - at_ < 4) fail("an unfinished \\u");
  const auto result = std::from_chars(at_, at_ + 4, code, 16);
  if (result.ec != std::errc() || result.ptr != at_ + 4) fail("expected four hex digits after \\u");
  at_ += 4;
  return code;
}

void JsonReader::append_escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  if (at_ == end_) fail("the JSON ends within a text");
  const char c = *at_++;
  if (const size_t index = kNames.find(c); index != std::string_view::npos) {
    out += kMeaning[index];
    return;
  }
  if (c != 'u') fail("an unknown escape");
  uint32_t code = hex4();
  if (code >= 0xd800 && code < 0xdc00) {
    if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') fail("half of a surrogate pair");
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    fail("half of a surrogate pair");
  }
  append_utf8(out, code);
}

std::string JsonReader::text() {
  if (peek() != Kind::kText) fail("expected a text");
  ++at_;
  std::string out;
  while (true) {
    const char* run = at_;
    unsigned char all = 0;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) {
      all |= static_cast<unsigned char>(*at_++);
    }
    out.append(run, at_);
    if (all >= 0x80 && !is_utf8({run, static_cast<size_t>(at_ - run)})) {
      fail("a text that is not UTF-8 before this");
    }
    if (at_ == end_) fail("the JSON ends within a text");
    const char c = *at_++;
    if (c == '"') return out;
    if (c != '\\') fail("a control character within a text");
    append_escape(out);
  }
}

bool JsonReader::boolean() {
  if (peek() != Kind::kBool) fail("expected true or false");
  const bool value = *at_ == 't';
  literal(value ? "true" : "false");
  return value;
}

JsonReader::Decimal JsonReader::scan_number() {
  Decimal decimal;
  next_char();
  decimal.begin = at_;
  if (*at_ == '-') {
    decimal.negative = true;
    ++at_;
  }
  if (at_ == end_ || !is_digit(*at_)) {
    if (!decimal.negative) peek();  // says what JSON lacks
    fail("expected a number");
  }
  const char* const digits = at_;
  const auto take_digits = [&] {
    uint64_t eight = 0;
    while (end_ - at_ >= 8 && eight_digits(at_, eight)) {
      decimal.digits = decimal.digits * 100'000'000 + eight;
      at_ += 8;
    }
    while (at_ != end_ && is_digit(*at_)) {
      decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(*at_++ - '0');
    }
  };
  take_digits();
  if (*digits == '0' && at_ - digits > 1) fail("a number with a leading zero");
  int64_t count = at_ - digits;
  decimal.whole = true;
  if (at_ != end_ && *at_ == '.') {
    const char* const fraction = ++at_;
    take_digits();
    if (at_ == fraction) fail("expected digits after the point");
    count += at_ - fraction;
    decimal.exponent = -static_cast<int>(std::min<int64_t>(at_ - fraction, 1 << 20));
    decimal.whole = false;
  }
  // Nineteen digits always fit; zeros in front count, which only costs speed.
  decimal.exact = count <= 19;
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    const bool minus = at_ != end_ && *at_ == '-';
    if (at_ != end_ && (*at_ == '-' || *at_ == '+')) ++at_;
    if (at_ == end_ || !is_digit(*at_)) fail("expected digits in the exponent");
    int exponent = 0;
    while (at_ != end_ && is_digit(*at_)) {
      exponent = std::min(exponent * 10 + (*at_++ - '0'), 1 << 20);
    }
    decimal.exponent += minus ? -exponent : exponent;
    decimal.whole = false;
  }
  return decimal;
}

double JsonReader::slow_number(const Decimal& decimal) const {
  double value = 0;
  const auto result = std::from_chars(decimal.begin, at_, value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small becomes zero, too large has no value.
    if (decimal.exponent > 0 || decimal.whole) fail("a number too large for 64 bits of float");
    return decimal.negative ? -0.0 : 0.0;
  }
  return value;
}

double JsonReader::to_double(const Decimal& decimal) const {
  // Both factors are exact, so the result is rounded once (Clinger).
  if (!decimal.exact || decimal.digits > (uint64_t{1} << 53) || decimal.exponent < -kMostTens ||
      decimal.exponent > kMostTens) {
    return slow_number(decimal);
  }
  const auto digits = static_cast<double>(decimal.digits);
  const double value =
      decimal.exponent < 0 ? digits / kTens[-decimal.exponent] : digits * kTens[decimal.exponent];
  return decimal.negative ? -value : value;
}

double JsonReader::number() {
  return to_double(scan_number());
}

float JsonReader::number_f32() {
  const Decimal decimal = scan_number();
  if (!decimal.exact || decimal.exponent < -kMostTens || decimal.exponent > kMostTens) {
    return static_cast<float>(slow_number(decimal));
  }
  // At most two roundings in double, 29 bits below the float's last: they change the float only
  // where the number lies that near to the middle of two.
  const auto digits = static_cast<double>(decimal.digits);
  const double value =
      decimal.exponent < 0 ? digits / kTens[-decimal.exponent] : digits * kTens[decimal.exponent];
  return static_cast<float>(decimal.negative ? -value : value);
}

size_t JsonReader::more_numbers_f32(float* out, size_t most) {
  size_t count = 0;
  if (ahead_ != nullptr) {
    const std::span<const float> known = ahead_->from(at_);
    if (!known.empty() && known.size() <= most) {
      std::copy(known.begin(), known.end(), out);
      count = known.size();
      at_ = ahead_->end();
    }
  }
  while (count < most && end_ - at_ > kFastBytes) {
    if (const size_t many = read_number_list(begin_, at_, end_, out + count, most - count)) {
      count += many;
      continue;
    }
    const char* at = at_;
    while (is_space(*at) && end_ - at > kFastBytes) ++at;
    if (*at != ',') break;
    ++at;
    while (is_space(*at) && end_ - at > kFastBytes) ++at;
    if (end_ - at < kFastBytes || !fast_f32(at, out[count])) break;
    at_ = at;
    ++count;
  }
  return count;
}

std::optional<int64_t> JsonReader::Decimal::integer() const {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!whole || !exact || digits > kMost + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - digits : digits);
}

int64_t JsonReader::integer() {
  const Decimal decimal = scan_number();
  if (!decimal.whole) fail("expected a whole number");
  const std::optional<int64_t> value = decimal.integer();
  if (!value) fail("a whole number too large for 64 bits");
  return *value;
}

uint64_t JsonReader::unsigned_integer() {
  const Decimal decimal = scan_number();
  if (!decimal.whole) fail("expected a whole number");
  if (decimal.negative && decimal.digits != 0) fail("expected a number that is not negative");
  uint64_t value = 0;
  const auto result = std::from_chars(decimal.begin + (decimal.negative ? 1 : 0), at_, value);
  if (result.ec != std::errc()) fail("a whole number too large for 64 bits");
  return value;
}

std::string_view JsonReader::skip() {
  skip_space();
  const char* const begin = at_;
  switch (peek()) {
    case Kind::kObject: {
      std::string key;
      enter_object();
      while (next_key(key)) skip();
      break;
    }
    case Kind::kArray:
      enter_array();
      while (next_item()) skip();
      break;
    case Kind::kText:
      text();
      break;
    case Kind::kNumber:
      scan_number();
      break;
    case Kind::kBool:
      boolean();
      break;
    case Kind::kNull:
      literal("null");
      break;
  }
  return {begin, static_cast<size_t>(at_ - begin)};
}

Json JsonReader::object_value() {
  Json::Object members;
  std::string key;
  enter_object();
  while (next_key(key)) members.emplace_back(key, value());
  std::vector<std::string_view> keys;
  keys.reserve(members.size());
  for (const auto& [name, value] : members) keys.emplace_back(name);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) fail(fmt::format("key '{}' appears twice in the object before", *twice));
  return Json::object_of(std::move(members));
}

Json JsonReader::number_value() {
  const Decimal decimal = scan_number();
  const std::optional<int64_t> whole = decimal.integer();
  return whole ? Json(*whole) : Json(to_double(decimal));
}

Json JsonReader::value() {
  switch (peek()) {
    case Kind::kObject:
      return object_value();
    case Kind::kArray: {
      Json::Array items;
      enter_array();
      while (next_item()) items.push_back(value());
      return items;
    }
    case Kind::kText:
      return text();
    case Kind::kNumber:
      return number_value();
    case Kind::kBool:
      return boolean();
    default:
      literal("null");
      return {};
  }
}

void JsonReader::finish() {
  skip_space();
  if (at_ != end_) fail("something follows the JSON");
}

}  // namespace trainyard
