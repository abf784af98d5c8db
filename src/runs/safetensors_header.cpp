#include "runs/safetensors_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/error.h"

namespace trainyard::runs {
namespace {

// Element types of the format that Tensor has too; F8 types and complex numbers are refused by
// name.
struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array<TypeName, 13> kTypes = {{{"F32", DType::kF32},
                                              {"F64", DType::kF64},
                                              {"F16", DType::kF16},
                                              {"BF16", DType::kBF16},
                                              {"I8", DType::kI8},
                                              {"I16", DType::kI16},
                                              {"I32", DType::kI32},
                                              {"I64", DType::kI64},
                                              {"U8", DType::kU8},
                                              {"U16", DType::kU16},
                                              {"U32", DType::kU32},
                                              {"U64", DType::kU64},
                                              {"BOOL", DType::kBool}}};

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](uint32_t shift) {
    out += static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80U) {
    out += static_cast<char>(code);
  } else if (code < 0x800U) {
    out += static_cast<char>(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000U) {
    out += static_cast<char>(0xe0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// The little of JSON that a header uses, with the byte of whatever is wrong. A general parser would
// keep the last of two equal names.
class Reader {
 public:
  Reader(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  size_t position() const { return at_; }

  [[noreturn]] void fail_at(size_t at, std::string_view problem) const {
    throw_error("{}: byte {}: {}; this is not a whole safetensors file", origin_,
                at + static_cast<size_t>(kHeaderBegin), problem);
  }

  bool take(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail_at(at_, fmt::format("expected '{}'", wanted));
  }

  // Calls `member` behind each "key": of an object.
  template <typename Member>
  void object(const Member& member) {
    expect('{');
    if (take('}')) return;
    do {
      skip_space();
      const size_t key_at = at_;
      const std::string key = string();
      expect(':');
      member(key, key_at);
    } while (take(','));
    expect('}');
  }

  // Of any length: the header's size bounds it, and the shape is checked against the data.
  std::vector<int64_t> integers() {
    std::vector<int64_t> values;
    expect('[');
    if (take(']')) return values;
    do {
      values.push_back(integer());
    } while (take(','));
    expect(']');
    return values;
  }

  std::string string() {
    expect('"');
    std::string out;
    while (true) {
      if (at_ == text_.size()) fail_at(at_, "the text never ends");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) fail_at(at_ - 1, "a control character in a text");
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
  }

  void end() {
    skip_space();
    if (at_ != text_.size()) fail_at(at_, "something follows the header");
  }

 private:
  // The four blanks of JSON (RFC 8259).
  void skip_space() {
    constexpr std::string_view kSpace = " \t\r\n";
    while (at_ < text_.size() && kSpace.find(text_[at_]) != std::string_view::npos) ++at_;
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const char* const end = text_.data() + text_.size();
    const auto result = std::from_chars(text_.data() + at_, end, value);
    if (result.ec != std::errc() || value < 0) fail_at(at_, "expected a whole number from 0");
    at_ = static_cast<size_t>(result.ptr - text_.data());
    return value;
  }

  uint32_t four_hex_digits() {
    uint32_t code = 0;
    const char* const begin = text_.data() + at_;
    if (text_.size() - at_ < 4 || std::from_chars(begin, begin + 4, code, 16).ptr != begin + 4) {
      fail_at(at_, "expected four hexadecimal digits");
    }
    at_ += 4;
    return code;
  }

  void escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) fail_at(at_, "the text never ends");
    const char c = text_[at_++];
    if (const size_t i = kLetters.find(c); i != std::string_view::npos) {
      out += kMeanings[i];
      return;
    }
    if (c != 'u') fail_at(at_ - 1, "unknown escape");
    uint32_t code = four_hex_digits();
    // Characters beyond U+FFFF come as two escapes, a high surrogate and a low one.
    const auto is_surrogate = [](uint32_t unit, uint32_t first) {
      return first <= unit && unit < first + 0x400U;
    };
    if (is_surrogate(code, 0xdc00U)) fail_at(at_ - 4, "half a surrogate pair");
    if (is_surrogate(code, 0xd800U)) {
      if (!text_.substr(at_).starts_with("\\u")) fail_at(at_, "half a surrogate pair");
      at_ += 2;
      const uint32_t low = four_hex_digits();
      if (!is_surrogate(low, 0xdc00U)) fail_at(at_ - 4, "half a surrogate pair");
      code = 0x10000U + ((code - 0xd800U) << 10U) + (low - 0xdc00U);
    }
    append_utf8(out, code);
  }

  std::string_view text_;
  std::string_view origin_;
  size_t at_ = 0;
};

struct Entry {
  StoredTensor tensor;
  int64_t end = 0;
  size_t position = 0;  // in the header
};

DType parse_dtype(Reader& reader) {
  const size_t at = reader.position();
  const std::string name = reader.string();
  for (const TypeName& row : kTypes) {
    if (row.name == name) return row.dtype;
  }
  reader.fail_at(at, fmt::format("element type '{}' is not read", name));
}

// Checks an entry by itself; that the data of all tensors fill the file is checked by the caller.
Entry parse_entry(Reader& reader, const std::string& name, size_t position, int64_t data_begin,
                  int64_t file_bytes) {
  Entry entry;
  entry.tensor.name = name;
  entry.position = position;
  std::vector<int64_t> offsets;
  std::set<std::string> seen;
  reader.object([&](const std::string& key, size_t at) {
    if (!seen.insert(key).second) reader.fail_at(at, fmt::format("'{}' appears twice", key));
    if (key == "dtype") {
      entry.tensor.type.dtype = parse_dtype(reader);
    } else if (key == "shape") {
      entry.tensor.type.shape = Shape(reader.integers());
    } else if (key == "data_offsets") {
      offsets = reader.integers();
    } else {
      reader.fail_at(at, fmt::format("tensor '{}' has an unknown field '{}'", name, key));
    }
  });
  const auto require = [&](bool holds, std::string_view problem) {
    if (!holds) reader.fail_at(position, fmt::format("tensor '{}' {}", name, problem));
  };
  require(seen.size() == 3, "lacks one of dtype, shape and data_offsets");
  require(offsets.size() == 2 && offsets[0] <= offsets[1], "has no begin and end of its data");
  const int64_t data_bytes = file_bytes - data_begin;
  require(offsets[1] <= data_bytes,
          fmt::format("ends {} bytes behind the end of the file", offsets[1] - data_bytes));
  int64_t bytes = -1;
  // The product of hostile dimensions may overflow.
  try {
    bytes = entry.tensor.type.num_bytes();
  } catch (const Error&) {
    require(false, "has a shape beyond all memory");
  }
  require(offsets[1] - offsets[0] == bytes,
          fmt::format("is {} of {} bytes, but has {} bytes of data", entry.tensor.type.to_string(),
                      bytes, offsets[1] - offsets[0]));
  entry.tensor.begin = data_begin + offsets[0];
  entry.end = data_begin + offsets[1];
  return entry;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_bytes,
                                           std::string_view origin) {
  Reader reader(text, origin);
  SafetensorsHeader header;
  std::vector<Entry> entries;
  std::set<std::string> names;
  const int64_t data_begin = kHeaderBegin + static_cast<int64_t>(text.size());
  reader.object([&](const std::string& name, size_t at) {
    if (!names.insert(name).second) reader.fail_at(at, fmt::format("'{}' appears twice", name));
    if (name != "__metadata__") {
      entries.push_back(parse_entry(reader, name, at, data_begin, file_bytes));
      return;
    }
    reader.object([&](const std::string& key, size_t key_at) {
      if (!header.metadata.emplace(key, reader.string()).second) {
        reader.fail_at(key_at, fmt::format("'{}' appears twice", key));
      }
    });
  });
  reader.end();
  // Empty tensors share their begin with the next, so the end decides too.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.tensor.begin, a.end) < std::pair(b.tensor.begin, b.end);
  });
  // No gaps, no overlaps, nothing behind: whatever the file contains belongs to one tensor. A file
  // with hidden bytes or aliased tensors is refused, as the reference implementation does.
  int64_t end = data_begin;
  for (Entry& entry : entries) {
    if (entry.tensor.begin != end) {
      reader.fail_at(entry.position,
                     fmt::format("the data of tensor '{}' begin at byte {}, those before end at {}",
                                 entry.tensor.name, entry.tensor.begin, end));
    }
    end = entry.end;
    header.tensors.push_back(std::move(entry.tensor));
  }
  TY_REQUIRE(end == file_bytes, "{}: byte {}: {} bytes follow the last tensor", origin, end,
             file_bytes - end);
  return header;
}

std::string_view safetensors_dtype(DType dtype) {
  for (const TypeName& row : kTypes) {
    if (row.dtype == dtype) return row.name;
  }
  TY_CHECK(false, "no safetensors name for {}", dtype_name(dtype));
}

}  // namespace trainyard::runs
