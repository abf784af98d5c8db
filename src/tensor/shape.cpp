#include "tensor/shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard {

bool Shape::is_static() const {
  return std::none_of(dims_.begin(), dims_.end(), [](int64_t d) { return d == kUnknown; });
}

int64_t Shape::num_elements() const {
  return num_elements(0, rank());
}

int64_t Shape::num_elements(int64_t begin, int64_t end) const {
  int64_t count = 1;
  for (int64_t i = begin; i < end; ++i) {
    if ((*this)[i] == kUnknown) return kUnknown;
    const bool overflow = __builtin_mul_overflow(count, (*this)[i], &count);
    TY_REQUIRE(!overflow, "a tensor of shape {} has too many elements", to_string());
  }
  return count;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> strides(dims_.size(), 1);
  for (size_t i = dims_.size(); i-- > 1;) {
    // A zero in front would hide this from num_elements().
    const bool overflow = __builtin_mul_overflow(strides[i], dims_[i], &strides[i - 1]);
    TY_REQUIRE(!overflow, "a tensor of shape {} has too many elements", to_string());
  }
  return strides;
}

namespace {

std::string dims_text(std::span<const int64_t> dims, char separator) {
  std::string text;
  for (const int64_t d : dims) {
    if (!text.empty()) text += separator;
    text += d == Shape::kUnknown ? "?" : fmt::format("{}", d);
  }
  return text;
}

}  // namespace

std::string Shape::to_string() const {
  return dims_.empty() ? "scalar" : dims_text(dims_, 'x');
}

int64_t TensorType::num_bytes() const {
  const int64_t count = shape.num_elements();
  if (count == Shape::kUnknown) return Shape::kUnknown;
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, dtype_size(dtype), &bytes);
  TY_REQUIRE(!overflow, "a tensor of type {} has too many bytes", to_string());
  return bytes;
}

std::string TensorType::to_string() const {
  return fmt::format("{}[{}]", dtype_name(dtype), dims_text(shape.dims(), ','));
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int64_t rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_a = i - (rank - a.rank());
    const int64_t from_b = i - (rank - b.rank());
    const int64_t da = from_a < 0 ? 1 : a[from_a];
    const int64_t db = from_b < 0 ? 1 : b[from_b];
    const bool free_a = da == 1 || (da == Shape::kUnknown && db != 1);
    TY_REQUIRE(da == db || free_a || db == 1 || db == Shape::kUnknown,
               "shapes {} and {} cannot be broadcast together", a.to_string(), b.to_string());
    dims[static_cast<size_t>(i)] = free_a ? db : da;
  }
  return Shape(std::move(dims));
}

std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<int64_t> strides(static_cast<size_t>(to.rank()), 0);
  const std::vector<int64_t> own = from.strides();
  const int64_t shift = to.rank() - from.rank();
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (from[i] != 1) strides[static_cast<size_t>(i + shift)] = own[static_cast<size_t>(i)];
  }
  return strides;
}

int64_t normalize_axis(int64_t axis, int64_t rank, std::string_view what) {
  TY_REQUIRE(-rank <= axis && axis < rank, "{}: axis {} is outside rank {}", what, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace trainyard
