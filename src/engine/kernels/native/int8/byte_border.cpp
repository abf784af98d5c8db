// QuantizeLinear and DequantizeLinear between f32 and u8 with one scale: what stands where floats
// become bytes and back. Images of bytes lie channels last.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/int8/byte_math.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/peak.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_border(const NodeView& node, DType from, DType to) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != from || node.output_type(0).dtype != to) {
    return "only f32 and u8 are implemented";
  }
  const Tensor* scale = node.input_constant(1);
  const bool known = scale != nullptr && scale->num_elements() == 1 &&
                     scale->dtype() == DType::kF32 &&
                     (!node.has_input(2) || node.input_constant(2) != nullptr);
  if (!known) return "only one scale, known before the run, is implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
}

float scale_of(const NodeView& node) {
  return node.input_constant(1)->values<float>()[0];
}

int64_t zero_of(const NodeView& node) {
  return node.has_input(2) ? element_as_int(*node.input_constant(2), 0) : 0;
}

// Pixels with their channels, as bytes lie; one pixel per element for everything but images.
struct Image {
  int64_t images = 1;
  int64_t pixels = 1;
  int64_t channels = 1;
};

Image image_of(const Shape& shape) {
  if (shape.rank() != 4) return {.pixels = shape.num_elements()};
  return {.images = shape[0], .pixels = shape[2] * shape[3], .channels = shape[1]};
}

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

class QuantizeBytes final : public Kernel {
 public:
  QuantizeBytes(const NodeView& node, const NodeLayouts& layouts)
      : image_(image_of(node.input_shape(0))),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        scale_(scale_of(node)),
        bytes_{.zero = zero_of(node)} {}

  void run(const KernelArgs& args) const override {
    const float* x = args.inputs[0].as<float>();
    uint8_t* y = args.outputs[0].as<uint8_t>();
    const int64_t runs = (image_.pixels + kRun - 1) / kRun;
    parallel_for(image_.images * runs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % runs * kRun;
        const int64_t count = std::min(kRun, image_.pixels - first);
        const int64_t image = i / runs;
        uint8_t* to = y + (image * image_.pixels + first) * image_.channels;
        const float* from =
            x + (image_.channels == 1 ? image * image_.pixels : image * x_.image_stride) +
            first * x_.block;
        if (image_.channels == 1 && x_.block == 1) {
          quantize(from, count, to);
        } else {
          interleave_planes(from, count, to);
        }
      }
    });
  }

 private:
  static constexpr int64_t kRun = 512;  // pixels that are converted at a time

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

  Image image_;
  Planes x_;
  float scale_;
  ops::StepsToBytes bytes_;
};

class DequantizeBytes final : public Kernel {
 public:
  DequantizeBytes(const NodeView& node, const NodeLayouts& layouts)
      : image_(image_of(node.input_shape(0))),
        y_(planes_of(node.output_shape(0), layouts.outputs[0])),
        scale_(scale_of(node)),
        zero_(static_cast<float>(zero_of(node))) {
    // As the operator computes it, one for each byte there is.
    for (int64_t i = 0; i < 256; ++i) {
      reals_[i] =
          static_cast<float>(static_cast<double>(i - zero_of(node)) * double{scale_of(node)});
    }
  }

  void run(const KernelArgs& args) const override {
    const uint8_t* x = args.inputs[0].as<uint8_t>();
    float* y = args.outputs[0].as<float>();
    if (image_.channels == 1 && y_.block == 1) {
      parallel_for(image_.images * image_.pixels, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = reals_[x[i]];
      });
      return;
    }
    parallel_for(image_.images * y_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / y_.planes;
        write_plane(x + image * image_.pixels * image_.channels, i % y_.planes * y_.block,
                    y + image * y_.image_stride + i % y_.planes * y_.plane_elements());
      }
    });
  }

 private:
  // Channels from `first` on; those that do not exist are zero.
  void write_plane(const uint8_t* x, int64_t first, float* y) const {
    const int64_t kept = std::min(y_.block, image_.channels - first);
    const bool whole = kept == y_.block && kept % kVector == 0;
    // A byte less a zero is exact, and so a product has the rounding of reals_.
    const __m256 zero = _mm256_set1_ps(zero_);
    const __m256 scale = _mm256_set1_ps(scale_);
    for (int64_t i = 0; i < image_.pixels; ++i, y += y_.block) {
      const uint8_t* pixel = x + i * image_.channels + first;
      for (int64_t c = 0; whole && c < kept; c += kVector) {
        _mm256_storeu_ps(y + c,
                         _mm256_mul_ps(_mm256_sub_ps(load_eight_bytes(pixel + c), zero), scale));
      }
      if (whole) continue;
      for (int64_t c = 0; c < kept; ++c) y[c] = reals_[pixel[c]];
      for (int64_t c = kept; c < y_.block; ++c) y[c] = 0;
    }
  }

  Image image_;
  Planes y_;
  float scale_;
  float zero_;
  float reals_[256];
};

std::optional<NodeLayouts> layouts_quantize(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  const Shape& shape = node.input_shape(0);
  const bool taken =
      shape.rank() == 4 && has_planes(shape, inputs[0]) && kByteVector % inputs[0].block_of(1) == 0;
  if (taken) wanted.inputs[0] = inputs[0];
  wanted.outputs = {channels_last(shape)};
  return wanted;
}

// Blocks as wide as vectors, which float kernels take.
std::optional<NodeLayouts> layouts_dequantize(const NodeView& node,
                                              std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  const Shape& shape = node.input_shape(0);
  wanted.inputs[0] = channels_last(shape);
  wanted.outputs.resize(1);
  const int64_t block = wide_vectors_pay() ? 2 * kVector : kVector;
  if (shape.rank() == 4 && shape[1] >= block && shape.num_elements(2, 4) > 1) {
    wanted.outputs[0] = Layout::channel_blocks(shape, block);
  }
  return wanted;
}

template <typename K>
std::unique_ptr<Kernel> create_border(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<K>(node, layouts);
}

}  // namespace

extern const KernelDef kQuantizeLinear = {
    .op = "QuantizeLinear",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_border(node, DType::kF32, DType::kU8); },
    .layouts = layouts_quantize,
    .create_in = create_border<QuantizeBytes>};
extern const KernelDef kDequantizeLinear = {
    .op = "DequantizeLinear",
    .library = "native",
    .refuses = [](const NodeView& node) { return refuses_border(node, DType::kU8, DType::kF32); },
    .layouts = layouts_dequantize,
    .create_in = create_border<DequantizeBytes>};

}  // namespace trainyard::kernels::native
