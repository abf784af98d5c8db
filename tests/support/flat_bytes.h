// FlatBuffers files, byte by byte: tables whose fields are numbers, or things that stand behind
// them.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace trainyard::flat_bytes {

struct Table;
// Elements as they are in the file, with their count in front.
struct Vector {
  uint32_t count = 0;
  std::string bytes;
};
using Field = std::variant<std::string, Vector, std::vector<Table>>;  // number, numbers, tables
struct Table {
  std::map<int, Field> fields;
  // One table behind the field, not a list of them.
  std::map<int, std::vector<Table>> single = {};
};

template <typename T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
Vector numbers(const std::vector<T>& values) {
  Vector vector{static_cast<uint32_t>(values.size()), {}};
  for (const T value : values) vector.bytes += number(value);
  return vector;
}

inline Vector text(const std::string& words) {
  return {static_cast<uint32_t>(words.size()), words};
}

class Writer {
 public:
  std::string file(const Table& root, const std::string& identifier) {
    bytes_ = number<uint32_t>(0) + identifier;
    point(0, write(root));
    return bytes_;
  }

 private:
  // Makes the offset at `from` lead to `to`.
  void point(size_t from, size_t to) {
    const std::string offset = number(static_cast<uint32_t>(to - from));
    bytes_.replace(from, offset.size(), offset);
  }

  size_t write(const Table& table) {
    int end = 0;
    for (const auto& [field, content] : table.fields) end = std::max(end, field + 1);
    for (const auto& [field, content] : table.single) end = std::max(end, field + 1);
    const size_t vtable = bytes_.size();
    const auto slots = static_cast<size_t>(end);
    const size_t at = vtable + 4 + 2 * slots;
    bytes_ += number(static_cast<uint16_t>(4 + 2 * slots)) +
              number(static_cast<uint16_t>(4 + 8 * slots)) + std::string(2 * slots, '\0');
    bytes_ += number(static_cast<int32_t>(at - vtable)) + std::string(8 * slots, '\0');
    const auto place = [&](int field) {
      const auto inside = static_cast<uint16_t>(4 + 8 * field);
      bytes_.replace(vtable + 4 + 2 * static_cast<size_t>(field), 2, number(inside));
      return at + inside;
    };
    for (const auto& [field, content] : table.fields) {
      const size_t here = place(field);
      if (const auto* plain = std::get_if<std::string>(&content)) {
        bytes_.replace(here, plain->size(), *plain);
      } else if (const auto* vector = std::get_if<Vector>(&content)) {
        point(here, bytes_.size());
        bytes_ += number(vector->count) + vector->bytes;
      } else {
        write_tables(here, std::get<std::vector<Table>>(content));
      }
    }
    for (const auto& [field, content] : table.single) {
      const size_t here = place(field);
      point(here, write(content.front()));
    }
    return at;
  }

  void write_tables(size_t from, const std::vector<Table>& tables) {
    point(from, bytes_.size());
    const size_t first = bytes_.size() + 4;
    bytes_ += number(static_cast<uint32_t>(tables.size())) + std::string(4 * tables.size(), '\0');
    for (size_t i = 0; i < tables.size(); ++i) {
      const size_t written = write(tables[i]);
      point(first + 4 * i, written);
    }
  }

  std::string bytes_;
};

}  // namespace trainyard::flat_bytes
