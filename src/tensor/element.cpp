// Element access and conversion for every dtype, dispatched once per call.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/dispatch.h"
#include "tensor/narrow.h"
#include "tensor/tensor.h"
#include "tensor/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace trainyard {
namespace {

// Many halves at once, by the processor's own conversions.
#if defined(__x86_64__)

constexpr int64_t kLanes = 8;

[[gnu::target("avx,f16c")]] void widen(const uint16_t* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
  }
  for (; i < count; ++i) to[i] = f16_to_f32(from[i]);
}

[[gnu::target("avx,f16c")]] void narrow(const float* from, int64_t count, uint16_t* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
  }
  for (; i < count; ++i) to[i] = f32_to_f16(from[i]);
}

// __builtin_cpu_supports() of clang 14 does not know F16C.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool can_convert() {
  static const bool kCan = __builtin_cpu_supports("avx") != 0 && has_f16c();
  return kCan;
}

// Elements of f16 to f32 or back; false if the types are others or the processor cannot.
bool cast_halves(const TensorView& from, const TensorView& to) {
  const bool widens = from.dtype == DType::kF16 && to.dtype == DType::kF32;
  const bool narrows = from.dtype == DType::kF32 && to.dtype == DType::kF16;
  if ((!widens && !narrows) || !can_convert()) return false;
  if (widens) {
    widen(from.as<const uint16_t>(), from.num_elements(), to.as<float>());
  } else {
    narrow(from.as<const float>(), from.num_elements(), to.as<uint16_t>());
  }
  return true;
}
#else
bool cast_halves(const TensorView& /*from*/, const TensorView& /*to*/) {
  return false;
}
#endif

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
  if (is_narrow(view.dtype)) {
    return convert<To>(narrow_to_f32(view.dtype, view.as<const uint8_t>()[index]));
  }
  return for_type(view.dtype,
                  [&]<typename T>(T) { return convert<To>(view.as<const T>()[index]); });
}

struct CopyLoop {
  int64_t count;
  int64_t from;  // elements between neighbors
  int64_t to;
};

// `loops` from inner to outer.
template <typename T>
void copy_loops(std::span<const CopyLoop> loops, const std::byte* from, std::byte* to) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const CopyLoop& outer = loops.back();
  if (loops.size() > 1) {
    for (int64_t i = 0; i < outer.count; ++i) {
      copy_loops<T>(loops.first(loops.size() - 1), from + i * outer.from * kSize,
                    to + i * outer.to * kSize);
    }
  } else if (outer.from == 1 && outer.to == 1) {
    std::memcpy(to, from, static_cast<size_t>(outer.count * kSize));
  } else {
    for (int64_t i = 0; i < outer.count; ++i) {
      std::memcpy(to + i * outer.to * kSize, from + i * outer.from * kSize, sizeof(T));
    }
  }
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

void cast_elements(const TensorView& from, const TensorView& to, const NarrowRule& rule) {
  const int64_t count = from.num_elements();
  if (from.dtype == to.dtype) {
    if (count > 0) {
      std::memcpy(to.data, from.data, static_cast<size_t>(count * dtype_size(to.dtype)));
    }
    return;
  }
  if (from.dtype == DType::kText || to.dtype == DType::kText) return cast_texts(from, to);
  if (cast_halves(from, to)) return;
  if (is_narrow(to.dtype)) {
    for (int64_t i = 0; i < count; ++i) {
      to.as<uint8_t>()[i] = f32_to_narrow(to.dtype, read_element<float>(from, i), rule);
    }
    return;
  }
  if (is_narrow(from.dtype)) {
    for_type(to.dtype, [&]<typename To>(To) {
      for (int64_t i = 0; i < count; ++i) to.as<To>()[i] = read_element<To>(from, i);
    });
    return;
  }
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
  for (const int64_t count : dims) {
    if (count == 0) return;
  }
  // Innermost first; neighbors that lie dense in both places become one loop.
  std::vector<CopyLoop> loops = {{1, 1, 1}};
  for (size_t i = dims.size(); i-- > 0;) {
    CopyLoop& inner = loops.back();
    if (dims[i] == 1) continue;
    if (from_strides[i] == inner.count * inner.from && to_strides[i] == inner.count * inner.to) {
      inner.count *= dims[i];
    } else {
      loops.push_back({dims[i], from_strides[i], to_strides[i]});
    }
  }
  // A loop over nothing dense is the first real one.
  if (loops.size() > 1 && loops[0].count == 1) loops.erase(loops.begin());
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  switch (element_size) {
    case 1:
      return copy_loops<uint8_t>(loops, source, target);
    case 2:
      return copy_loops<uint16_t>(loops, source, target);
    case 4:
      return copy_loops<uint32_t>(loops, source, target);
    case 8:
      return copy_loops<uint64_t>(loops, source, target);
    default:
      TY_CHECK(false, "elements of {} bytes", element_size);
  }
}

}  // namespace trainyard
