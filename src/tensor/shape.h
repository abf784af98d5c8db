// Shapes and tensor types. A dimension is a count, or kUnknown where only the data decides it
// (the rows that NonZero finds); everything else is static.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace trainyard {

class Shape {
 public:
  static constexpr int64_t kUnknown = -1;

  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t operator[](int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int64_t axis) { return dims_[static_cast<size_t>(axis)]; }
  // As operator[], with negative axes counted from the end.
  int64_t dim(int64_t axis) const { return (*this)[axis < 0 ? axis + rank() : axis]; }
  std::span<const int64_t> dims() const { return dims_; }
  const std::vector<int64_t>& vector() const { return dims_; }

  bool is_static() const;
  // Product of the dimensions; kUnknown if one is unknown. Throws Error where it would overflow.
  int64_t num_elements() const;
  // Product of dimensions [begin, end).
  int64_t num_elements(int64_t begin, int64_t end) const;
  // Row-major strides in elements.
  std::vector<int64_t> strides() const;

  // "1x3x224x224", "scalar", with ? for an unknown dimension.
  std::string to_string() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  // Throws Error where it would overflow; kUnknown if the shape is.
  int64_t num_bytes() const;
  // "f32[1,3,224,224]"
  std::string to_string() const;
  bool operator==(const TensorType&) const = default;
};

// The shape both operands are stretched to by ONNX (NumPy) broadcasting; throws Error if there is
// none.
Shape broadcast_shapes(const Shape& a, const Shape& b);

// Strides to read a tensor of shape `from` as if it had shape `to`: 0 where a dimension is
// stretched.
std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to);

// An axis in [-rank, rank) as one in [0, rank); throws Error otherwise. `what` names the operator.
int64_t normalize_axis(int64_t axis, int64_t rank, std::string_view what);

}  // namespace trainyard
