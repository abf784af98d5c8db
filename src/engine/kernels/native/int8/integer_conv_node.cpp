// ConvInteger and MatMulInteger, and the same with a scale and a bias after them: products of bytes
// whose zero point, as that of DynamicQuantizeLinear, only the run tells.
#include <algorithm>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_conv_node.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "ops/quantize/quantization.h"

namespace trainyard::kernels::native {
namespace {

constexpr int64_t kHalfByte = 128;
// More products than this, the largest there are, may not fit 32 bits.
constexpr int64_t kMostProducts = 33'000;

bool is_product(const NodeView& node) {
  return node.op() == "MatMulInteger" || node.op() == "ScaledMatMulInteger";
}

// A product with a matrix is a convolution of one position.
ByteConvShape integer_shape(const NodeView& node) {
  if (!is_product(node)) return byte_conv_shape(node);
  const Shape& w = node.input_shape(1);
  return {.batch = node.input_shape(0).num_elements() / w[0],
          .in_channels = w[0],
          .out_channels = w[1]};
}

// Zero point of the weights of a channel after they have become i8.
int64_t weight_zero(const NodeView& node, int64_t channel) {
  const int64_t shift = node.input_type(1).dtype == DType::kU8 ? kHalfByte : 0;
  if (!node.has_input(3)) return -shift;
  const Tensor& zeros = *node.input_constant(3);
  return element_as_int(zeros, zeros.num_elements() == 1 ? 0 : channel) - shift;
}

bool has_weight_zeros(const NodeView& node) {
  const int64_t channels = integer_shape(node).out_channels;
  for (int64_t i = 0; i < channels; ++i) {
    if (weight_zero(node, i) != 0) return true;
  }
  return false;
}

std::string_view refuses_integer(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kU8) return "only u8 is implemented";
  if (node.input_constant(1) == nullptr || (node.has_input(3) && node.input_constant(3) == nullptr))
    return "the weights are not constant";
  if (node.has_input(2) && node.input_shape(2).num_elements() != 1)
    return "zero points by row are not implemented";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  if (is_product(node)) {
    if (node.input_shape(0).rank() < 2 || node.input_shape(1).rank() != 2)
      return "only products with a matrix are implemented";
  } else if (node.input_shape(0).rank() != 4) {
    return "only images are implemented";
  }
  const ByteConvShape shape = integer_shape(node);
  if (shape.taps() > ByteConv::kMostTaps) return "the window is too large";
  if (shape.taps() * shape.in_channels / shape.groups > kMostProducts)
    return "sums may be larger than 32 bits hold";
  return "";
}

// Row-major by output channel, as i8.
std::vector<int8_t> integer_weights(const NodeView& node, const ByteConvShape& shape) {
  const Tensor& w = *node.input_constant(1);
  const auto* bytes = static_cast<const uint8_t*>(w.data());
  const auto flip = static_cast<uint8_t>(w.dtype() == DType::kU8 ? kHalfByte : 0);
  std::vector<int8_t> weights(static_cast<size_t>(w.num_elements()));
  const bool turned = is_product(node);
  for (int64_t i = 0; i < w.num_elements(); ++i) {
    const int64_t from =
        turned ? i % shape.in_channels * shape.out_channels + i / shape.in_channels : i;
    weights[static_cast<size_t>(i)] = static_cast<int8_t>(bytes[from] ^ flip);
  }
  return weights;
}

class IntegerConv final : public Kernel {
 public:
  IntegerConv(const NodeView& node, const NodeLayouts& layouts)
      : shape_(integer_shape(node)),
        scales_(node.op().starts_with("Scaled")),
        real_block_(layouts.outputs[0].block_of(1)) {
    const std::vector<int8_t> weights = integer_weights(node, shape_);
    const int64_t per_channel = shape_.in_channels / shape_.groups * shape_.taps();
    for (int64_t channel = 0; channel < shape_.out_channels; ++channel) {
      int32_t sum = 0;
      for (int64_t i = 0; i < per_channel; ++i) {
        sum += weights[static_cast<size_t>(channel * per_channel + i)];
      }
      weight_sums_.push_back(sum);
      weight_zeros_.push_back(static_cast<int32_t>(weight_zero(node, channel)));
    }
    has_weight_zeros_ = has_weight_zeros(node);
    const std::vector<int32_t> bias(static_cast<size_t>(shape_.out_channels), 0);
    const std::vector<float> multiplier(static_cast<size_t>(shape_.out_channels), 0.0F);
    conv_.emplace(
        shape_,
        ByteConvNumbers{
            .weights = weights.data(), .bias = bias.data(), .multiplier = multiplier.data()},
        Finish{}, byte_kernels());
  }

  void run(const KernelArgs& args) const override {
    Numbers numbers = numbers_of(args);
    ByteConvArgs job{.x = args.inputs[0].as<const uint8_t>(),
                     .reals = args.outputs[0].as<float>(),
                     .real_block = real_block_,
                     .sums = !scales_ || has_weight_zeros_,
                     .scratch = args.scratch.data(),
                     .bias = numbers.padded_bias,
                     .multiplier = numbers.padded_multiplier,
                     .outside = numbers.outside};
    if (!job.sums && numbers.shift != nullptr) job.shift = numbers.padded_shift;
    conv_->run(job);
    if (has_weight_zeros_) take_off_zeros(args, numbers);
  }
  int64_t scratch_bytes() const override {
    return aligned(conv_->scratch_bytes()) + 3 * aligned(conv_->padded_channels() * 4) +
           2 * aligned(shape_.out_channels * 4) + aligned(shape_.in_channels) +
           (has_weight_zeros_ ? aligned(sums_of_pixels() * 4) : 0);
  }
  bool holds_input(size_t input) const override { return input == 1 || input == 3; }
  std::string detail() const override {
    return std::string(byte_kernels().name) + (conv_->is_wide() ? " wide" : "");
  }

 private:
  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  // One for each pixel of x and group.
  int64_t sums_of_pixels() const {
    return shape_.batch * shape_.height * shape_.width * shape_.groups;
  }

  // Of one run, in its scratch memory.
  struct Numbers {
    int32_t x_zero = 0;
    const float* shift = nullptr;
    int32_t* bias = nullptr;
    float* multiplier = nullptr;
    int32_t* padded_bias = nullptr;
    float* padded_multiplier = nullptr;
    float* padded_shift = nullptr;
    uint8_t* outside = nullptr;
    int32_t* pixels = nullptr;
  };

  Numbers numbers_of(const KernelArgs& args) const {
    Numbers numbers;
    std::byte* at = args.scratch.data() + aligned(conv_->scratch_bytes());
    const auto take = [&](int64_t bytes) {
      std::byte* taken = at;
      at += aligned(bytes);
      return taken;
    };
    numbers.padded_bias = reinterpret_cast<int32_t*>(take(conv_->padded_channels() * 4));
    numbers.padded_multiplier = reinterpret_cast<float*>(take(conv_->padded_channels() * 4));
    numbers.padded_shift = reinterpret_cast<float*>(take(conv_->padded_channels() * 4));
    numbers.bias = reinterpret_cast<int32_t*>(take(shape_.out_channels * 4));
    numbers.multiplier = reinterpret_cast<float*>(take(shape_.out_channels * 4));
    numbers.outside = reinterpret_cast<uint8_t*>(take(shape_.in_channels));
    if (has_weight_zeros_) numbers.pixels = reinterpret_cast<int32_t*>(take(sums_of_pixels() * 4));
    const bool given = args.inputs.size() > 2 && args.inputs[2].data != nullptr;
    numbers.x_zero = given ? *args.inputs[2].as<const uint8_t>() : 0;
    std::memset(numbers.outside, numbers.x_zero, static_cast<size_t>(shape_.in_channels));
    for (size_t i = 0; i < weight_sums_.size(); ++i) {
      numbers.bias[i] = -numbers.x_zero * weight_sums_[i];
    }
    conv_->place<int32_t>(numbers.bias, numbers.padded_bias);
    if (!scales_) return numbers;
    const auto* scale = args.inputs[ops::kScalingFactor].as<const float>();
    const bool one = args.inputs[ops::kScalingFactor].num_elements() == 1;
    for (size_t i = 0; i < weight_sums_.size(); ++i) numbers.multiplier[i] = scale[one ? 0 : i];
    conv_->place<float>(numbers.multiplier, numbers.padded_multiplier);
    if (args.inputs.size() > ops::kScalingBias && args.inputs[ops::kScalingBias].data != nullptr) {
      numbers.shift = args.inputs[ops::kScalingBias].as<const float>();
      conv_->place<float>(numbers.shift, numbers.padded_shift);
    }
    return numbers;
  }

  // What the zero points of the weights add to the sums: for all channels of a group the same, the
  // sum of what the window sees.
  void take_off_zeros(const KernelArgs& args, const Numbers& numbers) const {
    const auto* x = args.inputs[0].as<const uint8_t>();
    auto* y = args.outputs[0].as<int32_t>();
    const int64_t depth = shape_.in_channels / shape_.groups;
    parallel_for(sums_of_pixels(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int32_t sum = 0;
        for (int64_t c = 0; c < depth; ++c) sum += x[i * depth + c];
        numbers.pixels[i] = sum - static_cast<int32_t>(depth) * numbers.x_zero;
      }
    });
    parallel_for(shape_.pixels(), [&](int64_t begin, int64_t end) {
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        for (int64_t group = 0; group < shape_.groups; ++group) {
          finish_channels(seen_sum(numbers.pixels, pixel, group),
                          part_of(shape_.out_channels, shape_.groups, group), numbers,
                          y + pixel * shape_.out_channels);
        }
      }
    });
  }

  // Of the window of a pixel of y; what lies outside of x adds nothing.
  int32_t seen_sum(const int32_t* pixels, int64_t pixel, int64_t group) const {
    const int64_t left = pixel % shape_.out_width * shape_.column_stride - shape_.pad_left;
    const int64_t rows = pixel / shape_.out_width;
    const int64_t top = rows % shape_.out_height * shape_.row_stride - shape_.pad_top;
    const int64_t image = rows / shape_.out_height * shape_.height;
    int32_t sum = 0;
    for (int64_t i = 0; i < shape_.window_rows; ++i) {
      const int64_t row = top + i * shape_.row_dilation;
      if (row < 0 || row >= shape_.height) continue;
      for (int64_t j = 0; j < shape_.window_columns; ++j) {
        const int64_t column = left + j * shape_.column_dilation;
        if (column < 0 || column >= shape_.width) continue;
        sum += pixels[((image + row) * shape_.width + column) * shape_.groups + group];
      }
    }
    return sum;
  }

  void finish_channels(int32_t sum, Range channels, const Numbers& numbers, int32_t* y) const {
    const int32_t* zeros = weight_zeros_.data();
    for (int64_t i = channels.begin; i < channels.end; ++i) y[i] -= zeros[i] * sum;
    if (!scales_) return;
    for (int64_t i = channels.begin; i < channels.end; ++i) {
      float real = static_cast<float>(y[i]) * numbers.multiplier[i];
      if (numbers.shift != nullptr) real += numbers.shift[i];
      std::memcpy(y + i, &real, sizeof real);
    }
  }

  ByteConvShape shape_;
  bool scales_;
  bool has_weight_zeros_ = false;
  int64_t real_block_;
  std::vector<int32_t> weight_sums_;
  std::vector<int32_t> weight_zeros_;
  std::optional<ByteConv> conv_;
};

std::optional<NodeLayouts> layouts_integer(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  wanted.inputs.resize(inputs.size());
  wanted.outputs.resize(1);
  if (is_product(node)) return wanted;
  wanted.inputs[0] = channels_last(node.input_shape(0));
  wanted.outputs[0] = channels_last(node.output_shape(0));
  if (wants_blocks(node) && !has_weight_zeros(node) &&
      ByteConv::writes_blocks(integer_shape(node), channel_block(), byte_kernels())) {
    wanted.outputs[0] = Layout::channel_blocks(node.output_shape(0), channel_block());
  }
  return wanted;
}

constexpr KernelDef integer_kernel(std::string_view op) {
  return {
      .op = op,
      .library = "native",
      .refuses = refuses_integer,
      .layouts = layouts_integer,
      .create_in = [](const NodeView& node, const NodeLayouts& layouts) -> std::unique_ptr<Kernel> {
        return std::make_unique<IntegerConv>(node, layouts);
      }};
}

}  // namespace

extern const KernelDef kConvInteger = integer_kernel("ConvInteger");
extern const KernelDef kMatMulInteger = integer_kernel("MatMulInteger");
extern const KernelDef kScaledConvInteger = integer_kernel("ScaledConvInteger");
extern const KernelDef kScaledMatMulInteger = integer_kernel("ScaledMatMulInteger");

}  // namespace trainyard::kernels::native
