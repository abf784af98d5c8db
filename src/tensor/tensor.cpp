#include "tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace trainyard {
namespace {

std::shared_ptr<void> allocate(int64_t bytes) {
  // aligned_alloc wants a multiple of the alignment; an empty tensor still gets an address.
  const size_t rounded = (static_cast<size_t>(bytes) + Tensor::kAlignment - 1) /
                         Tensor::kAlignment * Tensor::kAlignment;
  void* data = std::aligned_alloc(Tensor::kAlignment, std::max(rounded, Tensor::kAlignment));
  if (data == nullptr) throw_failure("out of memory: {} bytes for one tensor", bytes);
  return {data, std::free};
}

}  // namespace

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  TY_REQUIRE(type_.shape.is_static(), "a tensor of type {} has no fixed size", type_.to_string());
  owner_ = allocate(type_.num_bytes());
  data_ = owner_.get();
}

Tensor::Tensor(TensorType type, std::shared_ptr<void> owner, void* data)
    : type_(std::move(type)), owner_(std::move(owner)), data_(data) {}

Tensor Tensor::of_ints(std::span<const int64_t> values) {
  return of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

Tensor Tensor::zeros(TensorType type) {
  Tensor tensor(std::move(type));
  std::memset(tensor.data(), 0, static_cast<size_t>(tensor.num_bytes()));
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy(type_);
  std::memcpy(copy.data_, data_, static_cast<size_t>(num_bytes()));
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  TY_CHECK(shape.num_elements() == num_elements(), "{} reshaped to {}", type_.to_string(),
           shape.to_string());
  return {TensorType{type_.dtype, std::move(shape)}, owner_, data_};
}

template <typename T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  Tensor tensor(DTypeOf<T>::kValue, shape);
  TY_CHECK(static_cast<int64_t>(values.size()) == tensor.num_elements(), "{} values for shape {}",
           values.size(), shape.to_string());
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor.data_));
  return tensor;
}

template <typename T>
std::span<T> Tensor::values() {
  TY_CHECK(type_.dtype == DTypeOf<T>::kValue, "tensor {} read as {}", type_.to_string(),
           dtype_name(DTypeOf<T>::kValue));
  return {static_cast<T*>(data_), static_cast<size_t>(num_elements())};
}

template <typename T>
std::span<const T> Tensor::values() const {
  TY_CHECK(type_.dtype == DTypeOf<T>::kValue, "tensor {} read as {}", type_.to_string(),
           dtype_name(DTypeOf<T>::kValue));
  return {static_cast<const T*>(data_), static_cast<size_t>(num_elements())};
}

#define TY_FOR_TYPE(T)                                             \
  template Tensor Tensor::of<T>(const Shape&, std::span<const T>); \
  template std::span<T> Tensor::values<T>();                       \
  template std::span<const T> Tensor::values<T>() const;
TY_FOR_TYPE(float)
TY_FOR_TYPE(double)
TY_FOR_TYPE(F16)
TY_FOR_TYPE(BF16)
TY_FOR_TYPE(int8_t)
TY_FOR_TYPE(int16_t)
TY_FOR_TYPE(int32_t)
TY_FOR_TYPE(int64_t)
TY_FOR_TYPE(uint8_t)
TY_FOR_TYPE(uint16_t)
TY_FOR_TYPE(uint32_t)
TY_FOR_TYPE(uint64_t)
TY_FOR_TYPE(bool)
#undef TY_FOR_TYPE

}  // namespace trainyard
