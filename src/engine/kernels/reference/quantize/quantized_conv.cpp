// QuantizedConv.
#include <limits>

#include "engine/kernels/reference/nn/convolve.h"
#include "engine/kernels/reference/quantize/quantized.h"
#include "engine/kernels/reference/quantize/saturation.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"
#include "ops/quantize/quantized.h"

namespace trainyard::kernels::reference {

SaturationCount& saturations() {
  thread_local SaturationCount of_thread;
  return of_thread;
}

namespace {

constexpr bool fits_16_bits(int64_t sum) {
  return sum >= std::numeric_limits<int16_t>::min() && sum <= std::numeric_limits<int16_t>::max();
}

constexpr bool fits_32_bits(int64_t sum) {
  return sum >= std::numeric_limits<int32_t>::min() && sum <= std::numeric_limits<int32_t>::max();
}

// Adds products two by two as vpmaddubsw meets them: neighbors among the channels of one position.
void count_pairs(const WindowWalk& walk, const Shape& x, const Shape& w, int64_t groups,
                 const uint8_t* xs, const int8_t* ws) {
  const int64_t depth = w[1];
  const int64_t taps = walk.kernel_size();
  for (int64_t nm = 0; nm < x[0] * w[0]; ++nm) {
    const int64_t m = nm % w[0];
    const int64_t first = nm / w[0] * x[1] + m / (w[0] / groups) * depth;
    for (int64_t position = 0; position < walk.output_size(); ++position) {
      walk.for_each(position, [&](int64_t tap, int64_t at) {
        const auto product = [&](int64_t c) {
          return int64_t{xs[(first + c) * walk.input_size() + at]} *
                 int64_t{ws[(m * depth + c) * taps + tap]};
        };
        for (int64_t c = 0; c + 1 < depth; c += 2) {
          if (!fits_16_bits(product(c) + product(c + 1))) ++saturations().pairs;
        }
      });
    }
  }
}

class QuantizedConv final : public Kernel {
 public:
  explicit QuantizedConv(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        groups_(node.attr_int("group", 1)),
        x_zero_(node.attr_int("x_zero", 0)),
        result_(ops::result_bytes(node)),
        summed_(ops::summed_bytes(node)),
        own_ratio_(node.attr_float("own_ratio", 1.0F)),
        sum_ratio_(node.attr_float("sum_ratio", 1.0F)),
        sum_zero_(node.attr_int("sum_zero", 0)) {}

  void run(const KernelArgs& args) const override {
    const TensorView& x = args.inputs[0];
    const TensorView& w = args.inputs[1];
    count_pairs(walk_, *x.shape, *w.shape, groups_, x.as<uint8_t>(), w.as<int8_t>());
    convolve<int64_t>(
        walk_, *x.shape, *w.shape, groups_,
        [&](int64_t i) { return int64_t{x.as<uint8_t>()[i]} - x_zero_; },
        [&](int64_t i, int64_t) { return int64_t{w.as<int8_t>()[i]}; },
        [&](int64_t i, int64_t channel, int64_t sum) { store(args, i, channel, sum); });
  }

 private:
  void store(const KernelArgs& args, int64_t i, int64_t channel, int64_t sum) const {
    sum += args.inputs[ops::kQuantizedBias].as<int32_t>()[channel];
    if (!fits_32_bits(sum)) ++saturations().sums;
    const float steps =
        static_cast<float>(sum) * args.inputs[ops::kQuantizedMultiplier].as<float>()[channel];
    if (args.outputs[0].dtype == DType::kF32) {
      args.outputs[0].as<float>()[i] = steps;
      return;
    }
    uint8_t y = ops::to_byte(steps, result_);
    const TensorView added = input_or_none(args, ops::kQuantizedSum);
    if (added.data != nullptr) {
      const float own = static_cast<float>(y - result_.zero) * own_ratio_;
      const float other = static_cast<float>(added.as<uint8_t>()[i] - sum_zero_) * sum_ratio_;
      y = ops::to_byte(own + other, summed_);
    }
    args.outputs[0].as<uint8_t>()[i] = y;
  }

  WindowWalk walk_;
  int64_t groups_;
  int64_t x_zero_;
  ops::StepsToBytes result_;
  ops::StepsToBytes summed_;
  float own_ratio_;
  float sum_ratio_;
  int64_t sum_zero_;
};

}  // namespace

extern const KernelDef kQuantizedConv = reference_kernel<QuantizedConv>("QuantizedConv");

}  // namespace trainyard::kernels::reference
