// QuantizeLinear, DynamicQuantizeLinear and DequantizeLinear between f32 and u8 with one scale:
// what stands where floats become bytes and back. Images of bytes lie channels last.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/int8/byte_math.h"
#include "engine/kernels/native/int8/byte_quantizer.h"
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

class QuantizeBytes final : public Kernel {
 public:
  QuantizeBytes(const NodeView& node, const NodeLayouts& layouts)
      : quantizer_(node.input_shape(0), layouts.inputs[0]),
        scale_(scale_of(node)),
        zero_(zero_of(node)) {}

  void run(const KernelArgs& args) const override {
    quantizer_.run(args.inputs[0].as<float>(), scale_, zero_, args.outputs[0].as<uint8_t>());
  }

 private:
  ByteQuantizer quantizer_;
  float scale_;
  int64_t zero_;
};

// Chooses scale and zero point so that u8 covers the elements and zero.
class DynamicQuantizeBytes final : public Kernel {
 public:
  DynamicQuantizeBytes(const NodeView& node, const NodeLayouts& layouts)
      : quantizer_(node.input_shape(0), layouts.inputs[0]),
        count_(layouts.inputs[0].span_elements(node.input_shape(0))) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    const ByteRange range = range_of(x, reinterpret_cast<ByteRange*>(args.scratch.data()));
    constexpr float kSteps = 255;
    // All zeros: any scale will do.
    const float scale =
        range.largest > range.smallest ? (range.largest - range.smallest) / kSteps : 1.0F;
    const uint8_t zero = ops::to_byte(-range.smallest / scale, {});
    *args.outputs[1].as<float>() = scale;
    *args.outputs[2].as<uint8_t>() = zero;
    quantizer_.run(x, scale, zero, args.outputs[0].as<uint8_t>());
  }
  int64_t scratch_bytes() const override { return kParts * sizeof(ByteRange); }

 private:
  struct ByteRange {
    float smallest = 0;
    float largest = 0;
  };
  static constexpr int64_t kParts = 64;

  // NaN does not count. Padding is zero and does no harm.
  static ByteRange range_of_part(const float* x, int64_t count) {
    __m256 least = _mm256_setzero_ps();
    __m256 most = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + kVector <= count; i += kVector) {
      least = _mm256_min_ps(_mm256_loadu_ps(x + i), least);
      most = _mm256_max_ps(_mm256_loadu_ps(x + i), most);
    }
    alignas(32) float lanes[2][kVector];
    _mm256_store_ps(lanes[0], least);
    _mm256_store_ps(lanes[1], most);
    ByteRange range;
    for (int64_t lane = 0; lane < kVector; ++lane) {
      range.smallest = std::min(range.smallest, lanes[0][lane]);
      range.largest = std::max(range.largest, lanes[1][lane]);
    }
    for (; i < count; ++i) {
      range.smallest = std::min(range.smallest, x[i]);
      range.largest = std::max(range.largest, x[i]);
    }
    return range;
  }

  ByteRange range_of(const float* x, ByteRange* parts) const {
    parallel_for(kParts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Range part = part_of(count_, kParts, i);
        parts[i] = range_of_part(x + part.begin, part.size());
      }
    });
    ByteRange all;
    for (int64_t i = 0; i < kParts; ++i) {
      all.smallest = std::min(all.smallest, parts[i].smallest);
      all.largest = std::max(all.largest, parts[i].largest);
    }
    return all;
  }

  ByteQuantizer quantizer_;
  int64_t count_;
};

class DequantizeBytes final : public Kernel {
 public:
  DequantizeBytes(const NodeView& node, const NodeLayouts& layouts)
      : image_(byte_image(node.input_shape(0))),
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

  ByteImage image_;
  Planes y_;
  float scale_;
  float zero_;
  float reals_[256];
};

std::optional<NodeLayouts> layouts_quantize(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  const Shape& shape = node.input_shape(0);
  if (ByteQuantizer::takes(shape, inputs[0])) wanted.inputs[0] = inputs[0];
  wanted.outputs.resize(node.num_outputs());
  wanted.outputs[0] = channels_last(shape);
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

std::string_view refuses_dynamic(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  for (size_t i = 0; i < 3; ++i) {
    if (!node.has_output(i)) return "results are missing";
  }
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
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

extern const KernelDef kDynamicQuantizeLinear = {.op = "DynamicQuantizeLinear",
                                                 .library = "native",
                                                 .refuses = refuses_dynamic,
                                                 .layouts = layouts_quantize,
                                                 .create_in = create_border<DynamicQuantizeBytes>};

}  // namespace trainyard::kernels::native
