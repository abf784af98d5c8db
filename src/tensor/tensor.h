// An owning, 64-byte aligned, row-major tensor, and a non-owning view of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/narrow.h"
#include "tensor/shape.h"

namespace trainyard {

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kF64;
};
template <>
struct DTypeOf<F16> {
  static constexpr DType kValue = DType::kF16;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType kValue = DType::kBF16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kI8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType kValue = DType::kI16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kI64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kU8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType kValue = DType::kU16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType kValue = DType::kU32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType kValue = DType::kU64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};

// What a kernel sees. The shape is owned by the plan or the tensor and outlives the view.
struct TensorView {
  DType dtype = DType::kF32;
  const Shape* shape = nullptr;
  void* data = nullptr;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t num_elements() const { return shape->num_elements(); }
};

// Moves are cheap, copies are explicit (clone). The memory may belong to someone else (a mapped
// file), who is kept alive by the tensor.
class Tensor {
 public:
  static constexpr size_t kAlignment = 64;

  Tensor() = default;
  // Uninitialized memory. Throws Error for an unknown or overflowing shape.
  explicit Tensor(TensorType type);
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, std::move(shape)}) {}
  // Shares memory owned by `owner`, which holds at least num_bytes().
  Tensor(TensorType type, std::shared_ptr<void> owner, void* data);

  template <typename T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor of_ints(std::span<const int64_t> values);
  static Tensor zeros(TensorType type);

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Tensor clone() const;
  // The same memory under another shape with as many elements; the clone shares it.
  Tensor reshaped(Shape shape) const;

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t num_elements() const { return type_.shape.num_elements(); }
  int64_t num_bytes() const { return type_.num_bytes(); }
  bool empty() const { return data_ == nullptr; }

  void* data() { return data_; }
  const void* data() const { return data_; }
  // For code that works on views; what it reads through one it must not write.
  TensorView view() const { return {type_.dtype, &type_.shape, data_}; }
  // Typed access; TY_CHECKs the element type (bool is one byte).
  template <typename T>
  std::span<T> values();
  template <typename T>
  std::span<const T> values() const;

 private:
  TensorType type_;
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
};

// Element `index` (row-major) of any dtype as a double or as an integer.
double element_as_double(const TensorView& view, int64_t index);
int64_t element_as_int(const TensorView& view, int64_t index);
inline double element_as_double(const Tensor& tensor, int64_t index) {
  return element_as_double(tensor.view(), index);
}
inline int64_t element_as_int(const Tensor& tensor, int64_t index) {
  return element_as_int(tensor.view(), index);
}
// All elements of an integer (or bool) tensor.
std::vector<int64_t> to_ints(const TensorView& view);
inline std::vector<int64_t> to_ints(const Tensor& tensor) {
  return to_ints(tensor.view());
}
// The same values as another element type, converted as C++ would; floats outside an integer's
// range are clamped to it, and NaN is 0.
void cast_elements(const TensorView& from, const TensorView& to, const NarrowRule& rule = {});
Tensor cast(const Tensor& tensor, DType to);

// Copies an N-dimensional block between two strided places; strides count elements.
void copy_strided(std::span<const int64_t> dims, int64_t element_size, const void* from,
                  std::span<const int64_t> from_strides, void* to,
                  std::span<const int64_t> to_strides);

}  // namespace trainyard
