// JSON read piece by piece, for requests from strangers and for long arrays of numbers: no tree is
// built, nesting is limited, and every error says at which byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/early_numbers.h"
#include "base/json.h"

namespace trainyard {

// Reads strict JSON (RFC 8259). `text` and `origin`, which names it in errors, outlive the reader.
// All functions throw Error for what is not JSON or not what was asked for.
class JsonReader {
 public:
  enum class Kind : uint8_t { kObject, kArray, kText, kNumber, kBool, kNull };

  struct Options {
    int max_depth = 64;     // deeper nesting is refused
    size_t first_byte = 0;  // where the text begins in what `origin` names
    bool by_line = false;   // errors give line and column instead of the byte
  };

  JsonReader(std::string_view text, std::string_view origin);
  JsonReader(std::string_view text, std::string_view origin, const Options& options)
      : begin_(text.data()),
        at_(text.data()),
        end_(text.data() + text.size()),
        origin_(origin),
        options_(options) {}

  // Numbers of the text that were read before; they outlive the reader.
  void set_ahead(const EarlyNumbers* ahead) { ahead_ = ahead; }

  // Of the value that comes next.
  Kind peek();
  // An object: enter_object(), then while next_key() gives one, exactly one value.
  void enter_object();
  bool next_key(std::string& key);
  // An array: enter_array(), then while next_item() says so, exactly one value.
  void enter_array();
  bool next_item();

  std::string text();
  bool boolean();
  double number();
  float number_f32();
  // The items of an array, of which at least one was read, as far as they are numbers and there is
  // room; returns how many. Faster than number_f32() each by several times.
  size_t more_numbers_f32(float* out, size_t most);
  // A whole number; 1e3 and 2.0 are none. The second is for numbers above the largest int64.
  int64_t integer();
  uint64_t unsigned_integer();
  // Skips any value and returns its text.
  std::string_view skip();
  // A tree. An object has each key once: two members of one name are read differently by different
  // programs, which attackers use.
  Json value();

  // Throws if anything but white space follows.
  void finish();
  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  int64_t bytes_left() const { return end_ - at_; }
  [[noreturn]] void fail(std::string_view problem) const { fail_at(position(), problem); }
  [[noreturn]] void fail_at(size_t position, std::string_view problem) const;

 private:
  void skip_space();
  char next_char();
  void expect(char c);
  void literal(std::string_view word);
  void enter();
  // True if another element follows, false at `close`.
  bool next_element(char close);
  void append_escape(std::string& out);
  uint32_t hex4();

  // The digits of a number without an exponent or with a small one, exact in 64 bits.
  struct Decimal {
    uint64_t digits = 0;
    int exponent = 0;
    bool negative = false;
    bool whole = false;  // no point, no exponent
    bool exact = false;  // digits holds them all
    const char* begin = nullptr;
    // No value: a fraction, or beyond 64 bits.
    std::optional<int64_t> integer() const;
  };
  Decimal scan_number();
  double slow_number(const Decimal& decimal) const;
  double to_double(const Decimal& decimal) const;
  Json object_value();
  Json number_value();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string_view origin_;
  Options options_;
  int depth_ = 0;
  const EarlyNumbers* ahead_ = nullptr;
  bool first_ = false;  // of the innermost object or array: nothing was read yet
};

}  // namespace trainyard
