// Element access and conversion for every dtype, dispatched once per call.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/tensor.h"

namespace trainyard {
namespace {

// Float to integer conversion of a value outside the target's range is undefined in C++; clamp
// instead.
template <typename To, typename From>
To convert(From value) {
  if constexpr (kIsFloat<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    const auto wide = static_cast<double>(value);
    if (std::isnan(wide)) return 0;
    constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
    if (wide <= kLow) return std::numeric_limits<To>::min();
    if (wide >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(wide);
  } else if constexpr (std::is_same_v<From, F16> || std::is_same_v<From, BF16>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename To>
To read_element(const TensorView& view, int64_t index) {
  return for_type(view.dtype,
                  [&]<typename T>(T) { return convert<To>(view.as<const T>()[index]); });
}

}  // namespace

double element_as_double(const TensorView& view, int64_t index) {
  return read_element<double>(view, index);
}

int64_t element_as_int(const TensorView& view, int64_t index) {
  return read_element<int64_t>(view, index);
}

std::vector<int64_t> to_ints(const TensorView& view) {
  TY_REQUIRE(!is_float(view.dtype), "expected whole numbers, found a tensor of type {}",
             TensorType{view.dtype, *view.shape}.to_string());
  std::vector<int64_t> values(static_cast<size_t>(view.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = element_as_int(view, static_cast<int64_t>(i));
  return values;
}

void cast_elements(const TensorView& from, const TensorView& to) {
  const int64_t count = from.num_elements();
  for_type(from.dtype, [&]<typename From>(From) {
    for_type(to.dtype, [&]<typename To>(To) {
      for (int64_t i = 0; i < count; ++i) to.as<To>()[i] = convert<To>(from.as<const From>()[i]);
    });
  });
}

Tensor cast(const Tensor& tensor, DType to) {
  Tensor result(to, tensor.shape());
  cast_elements(tensor.view(), result.view());
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
