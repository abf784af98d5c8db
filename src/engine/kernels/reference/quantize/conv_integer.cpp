// ConvInteger, ScaledConvInteger and QLinearConv.
#include "engine/kernels/reference/nn/convolve.h"
#include "engine/kernels/reference/quantize/quantized.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

// Sums of (x - x_zero) * (w - w_zero), exact.
template <typename Emit>
void convolve_integers(const WindowWalk& walk, int64_t groups, const TensorView& x,
                       const TensorView& x_zero, const TensorView& w, const TensorView& w_zero,
                       Emit&& emit) {
  const EightBits xs(x);
  const EightBits ws(w);
  const int64_t x_shift = EightBits(x_zero)[0];
  const EightBits w_shifts(w_zero);
  convolve<int64_t>(
      walk, *x.shape, *w.shape, groups, [&](int64_t i) { return xs[i] - x_shift; },
      [&](int64_t i, int64_t channel) { return ws[i] - w_shifts[channel]; }, emit);
}

class ConvInteger final : public Kernel {
 public:
  explicit ConvInteger(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        groups_(node.attr_int("group", 1)) {}

  void run(const KernelArgs& args) const override {
    auto* y = args.outputs[0].as<int32_t>();
    convolve_integers(walk_, groups_, args.inputs[0], input_or_none(args, 2), args.inputs[1],
                      input_or_none(args, 3),
                      [&](int64_t i, int64_t, int64_t sum) { y[i] = static_cast<int32_t>(sum); });
  }

 private:
  WindowWalk walk_;
  int64_t groups_;
};

class ScaledConvInteger final : public Kernel {
 public:
  explicit ScaledConvInteger(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        groups_(node.attr_int("group", 1)) {}

  void run(const KernelArgs& args) const override {
    const Scaling scaling(args);
    auto* y = args.outputs[0].as<float>();
    convolve_integers(
        walk_, groups_, args.inputs[0], args.inputs[2], args.inputs[1], args.inputs[3],
        [&](int64_t i, int64_t channel, int64_t sum) { y[i] = scaling(sum, channel); });
  }

 private:
  WindowWalk walk_;
  int64_t groups_;
};

class QLinearConv final : public Kernel {
 public:
  explicit QLinearConv(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        groups_(node.attr_int("group", 1)) {}

  void run(const KernelArgs& args) const override {
    const auto x_scale = static_cast<float>(float_at(args.inputs[1], 0));
    const auto y_scale = static_cast<float>(float_at(args.inputs[6], 0));
    const Scales w_scale(args.inputs[4]);
    const int64_t y_zero = EightBits(args.inputs[7])[0];
    const int32_t* bias = input_or_none(args, 8).as<int32_t>();
    convolve_integers(
        walk_, groups_, args.inputs[0], args.inputs[2], args.inputs[3], args.inputs[5],
        [&](int64_t i, int64_t channel, int64_t sum) {
          if (bias != nullptr) sum += bias[channel];
          // In f32, as QuantizedConv: ties must fall where they fall elsewhere.
          const float scale = x_scale * static_cast<float>(w_scale[channel]) / y_scale;
          store_eight_bits(args.outputs[0], i, double{static_cast<float>(sum) * scale}, y_zero);
        });
  }

 private:
  WindowWalk walk_;
  int64_t groups_;
};

}  // namespace

extern const KernelDef kConvInteger = reference_kernel<ConvInteger>("ConvInteger");
extern const KernelDef kScaledConvInteger =
    reference_kernel<ScaledConvInteger>("ScaledConvInteger");
extern const KernelDef kQLinearConv = reference_kernel<QLinearConv>("QLinearConv");

}  // namespace trainyard::kernels::reference
