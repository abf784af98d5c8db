#include "engine/kernels/native/int8/byte_quantizer.h"

#include <algorithm>
#include <cstring>

#include "engine/kernels/native/int8/byte_math.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kRun = 512;  // pixels that are converted at a time
constexpr int64_t kColors = 3;

// Pixels of three planes, one after the other.
void interleave_colors(const uint8_t* a, const uint8_t* b, const uint8_t* c, int64_t count,
                       uint8_t* y) {
  constexpr int64_t kPixels = 16;
  // Which pixel of a plane byte i of the result is; a negative one makes a zero.
  const auto places = [](int64_t color, int64_t part) {
    alignas(kPixels) int8_t from[kPixels];
    for (int64_t i = 0; i < kPixels; ++i) {
      const int64_t at = part * kPixels + i;
      from[i] = static_cast<int8_t>(at % kColors == color ? at / kColors : -1);
    }
    return _mm_load_si128(reinterpret_cast<const __m128i*>(from));
  };
  __m128i from[kColors][kColors];
  for (int64_t color = 0; color < kColors; ++color) {
    for (int64_t part = 0; part < kColors; ++part) from[color][part] = places(color, part);
  }
  const auto load = [](const uint8_t* plane) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(plane));
  };
  int64_t i = 0;
  for (; i + kPixels <= count; i += kPixels) {
    const __m128i planes[kColors] = {load(a + i), load(b + i), load(c + i)};
    for (int64_t part = 0; part < kColors; ++part) {
      const __m128i two = _mm_or_si128(_mm_shuffle_epi8(planes[0], from[0][part]),
                                       _mm_shuffle_epi8(planes[1], from[1][part]));
      const __m128i all = _mm_or_si128(two, _mm_shuffle_epi8(planes[2], from[2][part]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * kColors + part * kPixels), all);
    }
  }
  for (; i < count; ++i) {
    y[i * kColors] = a[i];
    y[i * kColors + 1] = b[i];
    y[i * kColors + 2] = c[i];
  }
}

// Steps of one scale.
class PixelQuantizer {
 public:
  PixelQuantizer(const ByteImage& image, const Planes& x, float scale, int64_t zero)
      : image_(image), x_(x), scale_(scale), bytes_{.zero = zero} {}

  void quantize(const float* x, int64_t count, uint8_t* y) const {
    const __m256 scale = _mm256_set1_ps(scale_);
    store_steps(
        count, bytes_, y, [&](int64_t i) { return _mm256_div_ps(_mm256_loadu_ps(x + i), scale); },
        [&](int64_t i) { return x[i] / scale_; });
  }

  // Blocks of channels become neighbors.
  void interleave_planes(const float* x, int64_t count, uint8_t* y) const {
    if (x_.block > 1) {
      for (int64_t c = 0; c < image_.channels; c += x_.block, x += x_.plane_elements()) {
        place_block(x, count, std::min(x_.block, image_.channels - c), y + c);
      }
      return;
    }
    uint8_t planes[kColors][kRun];
    if (image_.channels == kColors) {
      for (int64_t c = 0; c < kColors; ++c) quantize(x + c * x_.positions, count, planes[c]);
      return interleave_colors(planes[0], planes[1], planes[2], count, y);
    }
    for (int64_t c = 0; c < image_.channels; ++c) {
      quantize(x + c * x_.positions, count, planes[0]);
      for (int64_t i = 0; i < count; ++i) y[i * image_.channels + c] = planes[0][i];
    }
  }

 private:
  // A block of channels of each pixel, of which the first `kept` exist.
  void place_block(const float* x, int64_t count, int64_t kept, uint8_t* y) const {
    const StepsToVector convert(bytes_);
    const __m256 scale = _mm256_set1_ps(scale_);
    const int64_t at_once = kByteVector / x_.block;  // pixels
    alignas(kByteVector) uint8_t bytes[kByteVector];
    for (int64_t i = 0; i < count; i += at_once) {
      const float* from = x + i * x_.block;
      const int64_t pixels = std::min(at_once, count - i);
      if (pixels < at_once) {
        quantize(from, pixels * x_.block, bytes);
      } else {
        const auto steps = [&](int64_t v) {
          return _mm256_div_ps(_mm256_loadu_ps(from + v * kVector), scale);
        };
        _mm256_store_si256(reinterpret_cast<__m256i*>(bytes),
                           convert(steps(0), steps(1), steps(2), steps(3)));
      }
      for (int64_t p = 0; p < pixels; ++p) {
        uint8_t* to = y + (i + p) * image_.channels;
        if (kept == kVector) {
          std::memcpy(to, bytes + p * x_.block, kVector);
        } else if (kept == 2 * kVector) {
          std::memcpy(to, bytes + p * x_.block, 2 * kVector);
        } else {
          std::memcpy(to, bytes + p * x_.block, static_cast<size_t>(kept));
        }
      }
    }
  }

  const ByteImage& image_;
  const Planes& x_;
  float scale_;
  ops::StepsToBytes bytes_;
};

}  // namespace

ByteImage byte_image(const Shape& shape) {
  if (shape.rank() != 4) return {.pixels = shape.num_elements()};
  return {.images = shape[0], .pixels = shape[2] * shape[3], .channels = shape[1]};
}

ByteQuantizer::ByteQuantizer(const Shape& shape, const Layout& layout)
    : image_(byte_image(shape)), x_(planes_of(shape, layout)) {}

bool ByteQuantizer::takes(const Shape& shape, const Layout& layout) {
  return shape.rank() == 4 && has_planes(shape, layout) && kByteVector % layout.block_of(1) == 0;
}

void ByteQuantizer::run(const float* x, float scale, int64_t zero, uint8_t* y) const {
  const PixelQuantizer quantizer(image_, x_, scale, zero);
  const int64_t runs = (image_.pixels + kRun - 1) / kRun;
  parallel_for(image_.images * runs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % runs * kRun;
      const int64_t count = std::min(kRun, image_.pixels - first);
      const int64_t image = i / runs;
      uint8_t* to = y + (image * image_.pixels + first) * image_.channels;
      // One channel in a block has the rest of the block behind it.
      const bool dense = image_.channels == 1 && x_.block == 1;
      const float* from = x + image * (dense ? image_.pixels : x_.image_stride) + first * x_.block;
      if (dense) {
        quantizer.quantize(from, count, to);
      } else {
        quantizer.interleave_planes(from, count, to);
      }
    }
  });
}

}  // namespace trainyard::kernels::native
