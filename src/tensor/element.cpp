// Element access and conversion for every dtype, dispatched once per call.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/tensor.h"

namespace trainyard {
namespace {

template <typename To>
To read_element(const Tensor& tensor, int64_t index) {
  const auto at = static_cast<size_t>(index);
  const auto load = [&]<typename From>(From) {
    return static_cast<To>(static_cast<const From*>(tensor.data())[at]);
  };
  switch (tensor.dtype()) {
    case DType::kF32:
      return load(float{});
    case DType::kF64:
      return load(double{});
    case DType::kF16:
      return static_cast<To>(f16_to_f32(static_cast<const uint16_t*>(tensor.data())[at]));
    case DType::kBF16:
      return static_cast<To>(bf16_to_f32(static_cast<const uint16_t*>(tensor.data())[at]));
    case DType::kI8:
      return load(int8_t{});
    case DType::kI16:
      return load(int16_t{});
    case DType::kI32:
      return load(int32_t{});
    case DType::kI64:
      return load(int64_t{});
    case DType::kU8:
      return load(uint8_t{});
    case DType::kU16:
      return load(uint16_t{});
    case DType::kU32:
      return load(uint32_t{});
    case DType::kU64:
      return load(uint64_t{});
    case DType::kBool:
      return load(bool{});
  }
  TY_CHECK(false, "dtype {}", static_cast<int>(tensor.dtype()));
}

// Float to integer conversion of a value outside the target's range is undefined in C++; clamp
// instead.
template <typename To>
To from_double(double value) {
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    if (std::isnan(value)) return 0;
    constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
    if (value <= kLow) return std::numeric_limits<To>::min();
    if (value >= kHigh) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

template <typename To>
void fill_from(const Tensor& from, To* to) {
  const int64_t count = from.num_elements();
  if (is_float(from.dtype())) {
    for (int64_t i = 0; i < count; ++i) to[i] = from_double<To>(element_as_double(from, i));
  } else if (from.dtype() == DType::kU64) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<To>(from.values<uint64_t>()[static_cast<size_t>(i)]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(element_as_int(from, i));
  }
}

}  // namespace

double element_as_double(const Tensor& tensor, int64_t index) {
  return read_element<double>(tensor, index);
}

int64_t element_as_int(const Tensor& tensor, int64_t index) {
  if (is_float(tensor.dtype())) return from_double<int64_t>(read_element<double>(tensor, index));
  return read_element<int64_t>(tensor, index);
}

std::vector<int64_t> to_ints(const Tensor& tensor) {
  TY_REQUIRE(!is_float(tensor.dtype()), "expected whole numbers, found a tensor of type {}",
             tensor.type().to_string());
  std::vector<int64_t> values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = element_as_int(tensor, static_cast<int64_t>(i));
  return values;
}

Tensor cast(const Tensor& tensor, DType to) {
  Tensor result(to, tensor.shape());
  const int64_t count = tensor.num_elements();
  if (to == tensor.dtype()) {
    std::memcpy(result.data(), tensor.data(), static_cast<size_t>(tensor.num_bytes()));
    return result;
  }
  switch (to) {
    case DType::kF32:
      fill_from(tensor, static_cast<float*>(result.data()));
      break;
    case DType::kF64:
      fill_from(tensor, static_cast<double*>(result.data()));
      break;
    case DType::kF16:
    case DType::kBF16: {
      auto* out = static_cast<uint16_t*>(result.data());
      const auto convert = to == DType::kF16 ? f32_to_f16 : f32_to_bf16;
      for (int64_t i = 0; i < count; ++i)
        out[i] = convert(static_cast<float>(element_as_double(tensor, i)));
      break;
    }
    case DType::kI8:
      fill_from(tensor, static_cast<int8_t*>(result.data()));
      break;
    case DType::kI16:
      fill_from(tensor, static_cast<int16_t*>(result.data()));
      break;
    case DType::kI32:
      fill_from(tensor, static_cast<int32_t*>(result.data()));
      break;
    case DType::kI64:
      fill_from(tensor, static_cast<int64_t*>(result.data()));
      break;
    case DType::kU8:
      fill_from(tensor, static_cast<uint8_t*>(result.data()));
      break;
    case DType::kU16:
      fill_from(tensor, static_cast<uint16_t*>(result.data()));
      break;
    case DType::kU32:
      fill_from(tensor, static_cast<uint32_t*>(result.data()));
      break;
    case DType::kU64:
      fill_from(tensor, static_cast<uint64_t*>(result.data()));
      break;
    case DType::kBool:
      fill_from(tensor, static_cast<bool*>(result.data()));
      break;
  }
  return result;
}

void copy_strided(std::span<const int64_t> dims, int64_t element_size, const void* from,
                  std::span<const int64_t> from_strides, void* to,
                  std::span<const int64_t> to_strides) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  const auto size = static_cast<size_t>(element_size);
  if (dims.empty()) {
    std::memcpy(target, source, size);
    return;
  }
  const int64_t count = dims[0];
  const int64_t from_step = from_strides[0] * element_size;
  const int64_t to_step = to_strides[0] * element_size;
  if (dims.size() == 1 && from_strides[0] == 1 && to_strides[0] == 1) {
    std::memcpy(target, source, size * static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (dims.size() == 1) {
      std::memcpy(target + i * to_step, source + i * from_step, size);
    } else {
      copy_strided(dims.subspan(1), element_size, source + i * from_step, from_strides.subspan(1),
                   target + i * to_step, to_strides.subspan(1));
    }
  }
}

}  // namespace trainyard
