// MaxPool and GlobalMaxPool of u8, and QuantizedAveragePool, channels last.
#include <algorithm>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/int8/byte_math.h"
#include "engine/kernels/native/parallel.h"
#include "engine/kernels/native/pool/pool_window.h"
#include "ops/op_def.h"

namespace trainyard::kernels::native {
namespace {

// Sums of fewer bytes than this fit 32 bits, whatever they are.
constexpr int64_t kMostSummed = int64_t{1} << 23;

std::string_view refuses_byte_pool(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kU8) return "only u8 is implemented here";
  if (node.input_shape(0).rank() != 4) return "only images are implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (node.has_output(1)) return "the positions of the maxima are not given";
  const ops::Window window = *ops::op_of(node).window(node);
  if (window.dilations != std::vector<int64_t>{1, 1}) return "dilated windows are not implemented";
  // So that every window meets the image; an average over nothing would divide by zero.
  for (size_t i = 0; i < 2; ++i) {
    if (window.pads_begin[i] >= window.kernel[i] || window.pads_end[i] >= window.kernel[i]) {
      return "padding as large as the window is not implemented";
    }
  }
  if (window.kernel_elements() > kMostSummed) return "the window is too large";
  return "";
}

// Work is shared by output pixels, whose channels lie together.
class BytePool : public Kernel {
 public:
  explicit BytePool(const NodeView& node)
      : window_(*ops::op_of(node).window(node)),
        channels_(node.input_shape(0)[1]),
        height_(node.input_shape(0)[2]),
        width_(node.input_shape(0)[3]),
        batch_(node.input_shape(0)[0]) {}

  void run(const KernelArgs& args) const override {
    const int64_t columns = window_.output[1];
    const int64_t rows = window_.output[0];
    parallel_for(batch_ * rows * columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const uint8_t* image =
            args.inputs[0].as<uint8_t>() + i / columns / rows * height_ * width_ * channels_;
        pool(image, i / columns % rows, i % columns, args.outputs[0].as<uint8_t>() + i * channels_);
      }
    });
  }

 protected:
  // One pixel of y.
  virtual void pool(const uint8_t* image, int64_t row, int64_t column, uint8_t* y) const = 0;

  // Calls f(pixel) with each pixel under the window.
  template <typename F>
  void for_each_pixel(const uint8_t* image, const Extent& down, const Extent& across,
                      const F& f) const {
    for (int64_t r = down.begin; r < down.end; ++r) {
      const uint8_t* pixel = image + (r * width_ + across.begin) * channels_;
      for (int64_t c = across.begin; c < across.end; ++c, pixel += channels_) f(pixel);
    }
  }

  ops::Window window_;
  int64_t channels_;
  int64_t height_;
  int64_t width_;
  int64_t batch_;
};

class ByteMaxPool final : public BytePool {
 public:
  using BytePool::BytePool;

 private:
  void pool(const uint8_t* image, int64_t row, int64_t column, uint8_t* y) const override {
    const Extent down = inside(window_, 0, row, height_);
    const Extent across = inside(window_, 1, column, width_);
    int64_t c = 0;
    for (; c + kByteVector <= channels_; c += kByteVector) {
      // 0 is the least of u8, so padding never wins.
      __m256i largest = _mm256_setzero_si256();
      for_each_pixel(image, down, across, [&](const uint8_t* pixel) {
        largest = _mm256_max_epu8(largest,
                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel + c)));
      });
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + c), largest);
    }
    for (; c < channels_; ++c) {
      uint8_t largest = 0;
      for_each_pixel(image, down, across,
                     [&](const uint8_t* pixel) { largest = std::max(largest, pixel[c]); });
      y[c] = largest;
    }
  }
};

class ByteAveragePool final : public BytePool {
 public:
  explicit ByteAveragePool(const NodeView& node)
      : BytePool(node),
        counts_padding_(node.attr_int("count_include_pad", 0) != 0),
        x_zero_(static_cast<int32_t>(node.attr_int("x_zero", 0))),
        ratio_(node.attr_float("ratio", 1.0F)),
        bytes_(ops::result_bytes(node)) {}

 private:
  void pool(const uint8_t* image, int64_t row, int64_t column, uint8_t* y) const override {
    const Extent down = inside(window_, 0, row, height_);
    const Extent across = inside(window_, 1, column, width_);
    const int64_t pixels = down.size() * across.size();
    const int64_t count = counts_padding_ ? size_with_padding(window_, 0, row, height_) *
                                                size_with_padding(window_, 1, column, width_)
                                          : pixels;
    const float scale = ratio_ / static_cast<float>(count);
    // (sum of bytes) - pixels * zero: the zero is taken off once instead of at every pixel. Padding
    // is zero in reals and adds nothing.
    const auto shift = static_cast<int32_t>(pixels * x_zero_);
    store_steps(
        channels_, bytes_, y,
        [&](int64_t c) {
          __m256i sum = _mm256_set1_epi32(-shift);
          for_each_pixel(image, down, across, [&](const uint8_t* pixel) {
            sum = _mm256_add_epi32(
                sum,
                _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixel + c))));
          });
          return _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(scale));
        },
        [&](int64_t c) {
          int32_t sum = -shift;
          for_each_pixel(image, down, across, [&](const uint8_t* pixel) { sum += pixel[c]; });
          return static_cast<float>(sum) * scale;
        });
  }

  bool counts_padding_;
  int32_t x_zero_;
  float ratio_;
  ops::StepsToBytes bytes_;
};

std::optional<NodeLayouts> layouts_byte_pool(const NodeView& node, std::span<const Layout>) {
  return NodeLayouts{.inputs = {channels_last(node.input_shape(0))},
                     .outputs = {channels_last(node.output_shape(0))}};
}

template <typename K>
constexpr KernelDef byte_pool_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_byte_pool,
          .layouts = layouts_byte_pool,
          .create_in = [](const NodeView& node, const NodeLayouts&) -> std::unique_ptr<Kernel> {
            return std::make_unique<K>(node);
          }};
}

}  // namespace

extern const KernelDef kByteMaxPool = byte_pool_kernel<ByteMaxPool>("MaxPool");
extern const KernelDef kByteGlobalMaxPool = byte_pool_kernel<ByteMaxPool>("GlobalMaxPool");
extern const KernelDef kQuantizedAveragePool =
    byte_pool_kernel<ByteAveragePool>("QuantizedAveragePool");

}  // namespace trainyard::kernels::native
