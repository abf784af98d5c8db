// Tables of a FlatBuffers file, every access checked against the file: no offset is believed.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainyard::runs {

// The bytes of a file, and what to call it in errors.
struct FlatFile {
  std::span<const std::byte> bytes;
  std::string_view origin;

  template <typename T>
  T number(int64_t at) const {
    TY_REQUIRE(at >= 0 && at <= static_cast<int64_t>(bytes.size()) - int64_t{sizeof(T)},
               "{}: byte {}: an offset leads outside the file of {} bytes; it is damaged", origin,
               at, bytes.size());
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  // Where the offset at this byte leads.
  int64_t follow(int64_t at) const { return at + int64_t{number<uint32_t>(at)}; }
};

class FlatTable {
 public:
  FlatTable(const FlatFile& file, int64_t at) : file_(&file), at_(at) {
    vtable_ = at - int64_t{file.number<int32_t>(at)};
    vtable_bytes_ = file.number<uint16_t>(vtable_);
  }

  template <typename T>
  T number(int field, T absent) const {
    const int64_t at = place(field);
    return at == 0 ? absent : file_->number<T>(at);
  }

  // Fails for a field that is absent, with its name.
  FlatTable table(int field, std::string_view what) const {
    const int64_t at = place(field);
    TY_REQUIRE(at != 0, "{}: byte {}: {} is missing", file_->origin, at_, what);
    return {*file_, file_->follow(at)};
  }
  bool has(int field) const { return place(field) != 0; }

  // Elements of a vector; none if the field is absent.
  template <typename T>
  std::vector<T> numbers(int field) const {
    const std::span<const std::byte> data = vector(field, sizeof(T));
    std::vector<T> values(data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data.data(), data.size());
    return values;
  }
  std::span<const std::byte> bytes(int field) const { return vector(field, 1); }
  std::string text(int field) const {
    const auto data = vector(field, 1);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  std::vector<FlatTable> tables(int field) const {
    const std::span<const std::byte> data = vector(field, sizeof(uint32_t));
    std::vector<FlatTable> found;
    const int64_t begin = data.data() - file_->bytes.data();
    for (size_t i = 0; i < data.size(); i += sizeof(uint32_t)) {
      found.emplace_back(*file_, file_->follow(begin + static_cast<int64_t>(i)));
    }
    return found;
  }

 private:
  // Of a field's content; 0 if it is absent.
  int64_t place(int field) const {
    const int64_t slot = 4 + 2 * int64_t{field};
    if (slot + 2 > vtable_bytes_) return 0;
    const auto offset = file_->number<uint16_t>(vtable_ + slot);
    return offset == 0 ? 0 : at_ + offset;
  }
  std::span<const std::byte> vector(int field, size_t element) const {
    const int64_t at = place(field);
    if (at == 0) return file_->bytes.first(0);
    const int64_t begin = file_->follow(at);
    const auto count = file_->number<uint32_t>(begin);
    const int64_t first = begin + 4;
    TY_REQUIRE(
        count <= (file_->bytes.size() - static_cast<size_t>(first)) / element,
        "{}: byte {}: a list of {} elements ends outside the file of {} bytes; it is damaged",
        file_->origin, begin, count, file_->bytes.size());
    return file_->bytes.subspan(static_cast<size_t>(first), count * element);
  }

  const FlatFile* file_;
  int64_t at_;
  int64_t vtable_ = 0;
  int64_t vtable_bytes_ = 0;
};

}  // namespace trainyard::runs
