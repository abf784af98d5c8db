// QuantizeLinear and DequantizeLinear between f32 and u8 with one scale, and Reorder of bytes: what
// stands where floats become bytes and back. Images of bytes lie channels last.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/api/kernel.h"
#include "kernels/native/cpu.h"
#include "kernels/native/flat.h"
#include "kernels/native/int8/byte_layout.h"
#include "kernels/native/int8/byte_math.h"
#include "kernels/native/parallel.h"
#include "kernels/native/peak.h"
#include "tensor/layout_copy.h"

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
    constexpr int64_t kRun = 512;
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
  void quantize(const float* x, int64_t count, uint8_t* y) const {
    const __m256 scale = _mm256_set1_ps(scale_);
    store_steps(
        count, bytes_, y, [&](int64_t i) { return _mm256_div_ps(_mm256_loadu_ps(x + i), scale); },
        [&](int64_t i) { return x[i] / scale_; });
  }

  // Blocks of channels become neighbours.
  void interleave_planes(const float* x, int64_t count, uint8_t* y) const {
    constexpr int64_t kMost = 512 * 16;
    uint8_t plane[kMost];
    for (int64_t c = 0; c < image_.channels; c += x_.block, x += x_.plane_elements()) {
      quantize(x, count * x_.block, plane);
      const int64_t kept = std::min(x_.block, image_.channels - c);
      if (kept == 1) {
        for (int64_t i = 0; i < count; ++i) y[i * image_.channels + c] = plane[i];
        continue;
      }
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(y + i * image_.channels + c, plane + i * x_.block, static_cast<size_t>(kept));
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
        y_(planes_of(node.output_shape(0), layouts.outputs[0])) {
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
    for (int64_t i = 0; i < image_.pixels; ++i, y += y_.block) {
      const uint8_t* pixel = x + i * image_.channels + first;
      for (int64_t c = 0; c < kept; ++c) y[c] = reals_[pixel[c]];
      for (int64_t c = kept; c < y_.block; ++c) y[c] = 0;
    }
  }

  Image image_;
  Planes y_;
  float reals_[256];
};

// Turns a matrix of `rows` x `columns` bytes.
void turn(const uint8_t* from, int64_t rows, int64_t columns, uint8_t* to) {
  constexpr int64_t kTile = 16;
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      for (int64_t j = c; j < std::min(columns, c + kTile); ++j) {
        for (int64_t i = r; i < std::min(rows, r + kTile); ++i) {
          to[j * rows + i] = from[i * columns + j];
        }
      }
    }
  }
}

class ByteReorder final : public Kernel {
 public:
  ByteReorder(const NodeView& node, const NodeLayouts& layouts)
      : type_(node.input_type(0)), from_(layouts.inputs[0]), to_(layouts.outputs[0]) {
    const Layout last = channels_last(type_.shape);
    const auto is = [&](const Layout& layout, const Layout& other) {
      return same_placement(layout, other, type_.shape);
    };
    image_ = image_of(type_.shape);
    gathers_ = type_.shape.rank() == 4 && is(from_, Layout()) && is(to_, last);
    spreads_ = type_.shape.rank() == 4 && is(from_, last) && is(to_, Layout());
  }

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<uint8_t>();
    auto* y = args.outputs[0].as<uint8_t>();
    if (!gathers_ && !spreads_) return copy_between_layouts(type_, x, from_, y, to_);
    const int64_t bytes = image_.pixels * image_.channels;
    parallel_for(image_.images, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        turn(x + i * bytes, gathers_ ? image_.channels : image_.pixels,
             gathers_ ? image_.pixels : image_.channels, y + i * bytes);
      }
    });
  }

 private:
  TensorType type_;
  Layout from_;
  Layout to_;
  Image image_;
  bool gathers_ = false;  // channels become neighbours
  bool spreads_ = false;
};

std::optional<NodeLayouts> layouts_quantize(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  const Shape& shape = node.input_shape(0);
  const bool taken =
      shape.rank() == 4 && has_planes(shape, inputs[0]) && inputs[0].block_of(1) <= 16;
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
extern const KernelDef kByteReorder = {.op = "Reorder",
                                       .library = "native",
                                       .refuses = [](const NodeView& node) -> std::string_view {
                                         if (dtype_size(node.input_type(0).dtype) != 1)
                                           return "only bytes are implemented";
                                         return "";
                                       },
                                       .create_in = create_border<ByteReorder>};

}  // namespace trainyard::kernels::native
