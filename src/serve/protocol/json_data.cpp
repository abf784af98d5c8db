#include "serve/protocol/json_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "base/error.h"
#include "http/status.h"
#include "serve/protocol/tensor_types.h"
#include "tensor/dispatch.h"

namespace trainyard::serve {
namespace {

// Far above what a body may hold, far below where products of bytes overflow.
constexpr int64_t kMostElements = int64_t{1} << 40;

// Throws Error with the position for a number that does not fit the type.
template <typename T>
T read_element(JsonReader& reader) {
  if constexpr (std::is_same_v<T, bool>) {
    if (reader.peek() != JsonReader::Kind::kNumber) return reader.boolean();
    const int64_t value = reader.integer();
    if (value != 0 && value != 1) reader.fail("expected true, false, 0 or 1");
    return value == 1;
  } else if constexpr (std::is_same_v<T, float>) {
    return reader.number_f32();
  } else if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    return T(reader.number_f32());
  } else if constexpr (std::is_same_v<T, double>) {
    return reader.number();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return reader.unsigned_integer();
  } else {
    const int64_t value = reader.integer();
    if (value < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
        value > static_cast<int64_t>(std::numeric_limits<T>::max())) {
      reader.fail(fmt::format("{} does not fit into {}", value, protocol_name(DTypeOf<T>::kValue)));
    }
    return static_cast<T>(value);
  }
}

// Data may be nested like the shape or flat (Open Inference Protocol allows both); both fill `out`
// in row-major order.
template <typename T>
class NestedReader {
 public:
  NestedReader(JsonReader& reader, const std::vector<int64_t>& shape, std::span<T> out)
      : reader_(reader), shape_(shape), out_(out) {}

  void read() {
    if (shape_.empty() && reader_.peek() != JsonReader::Kind::kArray) {
      put();
    } else {
      reader_.enter_array();
      read_items(0);
    }
    if (next_ != out_.size()) {
      reader_.fail(fmt::format("data has {} elements, shape {} needs {}", next_, dims_text(shape_),
                               out_.size()));
    }
  }

 private:
  void put() {
    if (next_ == out_.size()) {
      reader_.fail(fmt::format("data has more than the {} elements of shape {}", out_.size(),
                               dims_text(shape_)));
    }
    out_[next_++] = read_element<T>(reader_);
  }

  // Long arrays of floats are what most bodies consist of.
  int64_t put_more() {
    if constexpr (std::is_same_v<T, float>) {
      const size_t more = reader_.more_numbers_f32(out_.data() + next_, out_.size() - next_);
      next_ += more;
      return static_cast<int64_t>(more);
    } else {
      return 0;
    }
  }

  // What is in brackets at a depth; elements directly in the outermost are the flat form.
  void read_items(size_t depth) {
    int64_t count = 0;
    bool nested = false;
    while (reader_.next_item()) {
      if (count++ == 0) nested = reader_.peek() == JsonReader::Kind::kArray;
      if (!nested) {
        put();
        count += put_more();
        continue;
      }
      reader_.enter_array();
      read_items(depth + 1);
    }
    const bool flat = depth == 0 && !nested;
    // Further brackets around single elements change nothing (as for Triton).
    const int64_t wanted = depth < shape_.size() ? shape_[depth] : 1;
    if (!flat && count != wanted) {
      reader_.fail(fmt::format("data has {} items at depth {}, shape {} says {}", count, depth + 1,
                               dims_text(shape_), wanted));
    }
    // An item count that fits by chance does not make a shape: [[1, 2], [3, 4]] is no [2, 2, 1].
    if (!flat && !nested && depth + 1 < shape_.size() && count > 0) {
      reader_.fail(fmt::format("data is nested {} deep, shape {} says {}; or give it flat",
                               depth + 1, dims_text(shape_), shape_.size()));
    }
  }

  JsonReader& reader_;
  const std::vector<int64_t>& shape_;
  std::span<T> out_;
  size_t next_ = 0;
};

template <typename T>
void append_elements(std::string& out, std::span<const T> values) {
  fmt::memory_buffer buffer;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) buffer.push_back(',');
    if constexpr (std::is_same_v<T, bool>) {
      fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{}"), values[i] ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
      // Widens 8-bit types, which would be written as characters.
      fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{}"), int64_t{1} * values[i]);
    } else {
      using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const auto value = static_cast<Number>(values[i]);
      if (std::isfinite(value)) {
        fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{}"), value);
      } else {
        // JSON has neither infinity nor NaN.
        buffer.append(std::string_view("null"));
      }
    }
  }
  out.append(buffer.data(), buffer.size());
}

// Nested or flat, in order. The reader bounds the depth.
void collect_texts(JsonReader& reader, std::vector<std::string>& texts) {
  if (reader.peek() != JsonReader::Kind::kArray) {
    texts.push_back(reader.text());
    return;
  }
  reader.enter_array();
  while (reader.next_item()) collect_texts(reader, texts);
}

}  // namespace

// Throws RequestError before a product can overflow; dimensions beside a 0 are checked too.
int64_t count_elements(const std::vector<int64_t>& shape, std::string_view where) {
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (dim < 0) {
      refuse(Status::kBadRequest, "{}: shape {} has a negative dimension", where, dims_text(shape));
    }
    if (dim > kMostElements || (count > 0 && dim > kMostElements / count)) {
      refuse(
          Status::kBadRequest,
          "byte size overflow for {}: shape {} causes total element count to exceed maximum size "
          "of {}",
          where, dims_text(shape), kMostElements);
    }
    count *= dim;
  }
  return count;
}

Tensor read_numbers(JsonReader& reader, DType dtype, const std::vector<int64_t>& shape,
                    std::string_view where) {
  // No element is written with less than two bytes, so that a short text cannot ask for much
  // memory.
  if (count_elements(shape, where) > reader.bytes_left() / 2 + 1) {
    refuse(Status::kBadRequest, "{}: shape {} has more elements than its data could hold", where,
           dims_text(shape));
  }
  Tensor tensor(dtype, Shape(shape));
  for_type(dtype,
           [&]<typename T>(T) { NestedReader<T>(reader, shape, tensor.values<T>()).read(); });
  return tensor;
}

std::vector<std::string> read_texts(JsonReader& reader) {
  std::vector<std::string> texts;
  collect_texts(reader, texts);
  return texts;
}

void append_numbers(std::string& out, const Tensor& tensor) {
  out += '[';
  for_type(tensor.dtype(), [&]<typename T>(T) { append_elements(out, tensor.values<T>()); });
  out += ']';
}

void append_text(std::string& out, std::string_view text) {
  // The usual case, without the detour over Json.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += Json(text).dump(-1);
  }
}

}  // namespace trainyard::serve
