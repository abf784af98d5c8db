// ReluGrad and ClipGrad: dy passes where the output is strictly between the bounds. SigmoidGrad and
// TanhGrad: dy times a slope that follows from the output.
#include <cmath>
#include <limits>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Inputs: y, dy.
void pass_between(const KernelArgs& args, double low, double high) {
  for_float_type(args.inputs[0].dtype, [&]<typename T>(T) {
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      const auto y = static_cast<double>(args.inputs[0].as<T>()[i]);
      args.outputs[0].as<T>()[i] = low < y && y < high ? args.inputs[1].as<T>()[i] : T{};
    }
  });
}

class ReluGrad final : public Kernel {
 public:
  explicit ReluGrad(const NodeView&) {}
  void run(const KernelArgs& args) const override {
    pass_between(args, 0.0, std::numeric_limits<double>::infinity());
  }
};

class ClipGrad final : public Kernel {
 public:
  explicit ClipGrad(const NodeView&) {}
  void run(const KernelArgs& args) const override {
    const auto bound = [&](size_t i, double none) {
      const bool given = i < args.inputs.size() && args.inputs[i].data != nullptr;
      return given ? float_at(args.inputs[i], 0) : none;
    };
    constexpr double kNone = std::numeric_limits<double>::infinity();
    pass_between(args, bound(2, -kNone), bound(3, kNone));
  }
};

// dx = dy * slope(y)
template <double (*kSlope)(double)>
class SlopeGrad final : public Kernel {
 public:
  explicit SlopeGrad(const NodeView&) {}
  void run(const KernelArgs& args) const override {
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      const double slope = kSlope(float_at(args.inputs[0], i));
      store_float(args.outputs[0], i, slope * float_at(args.inputs[1], i));
    }
  }
};

// dx = dy * (F(x) + x * F'(x)), y = x * F(x)
class GeluGrad final : public Kernel {
 public:
  explicit GeluGrad(const NodeView& node)
      : tanh_(node.attr_text("approximate", "none") == "tanh") {}

  void run(const KernelArgs& args) const override {
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      const double x = float_at(args.inputs[0], i);
      store_float(args.outputs[0], i,
                  (tanh_ ? tanh_slope_at(x) : slope_at(x)) * float_at(args.inputs[1], i));
    }
  }

 private:
  static double slope_at(double x) {
    constexpr double kRootHalf = 0.70710678118654752;
    constexpr double kRootTwoPi = 2.5066282746310002;
    return 0.5 * (1 + std::erf(x * kRootHalf)) + x * std::exp(-0.5 * x * x) / kRootTwoPi;
  }
  static double tanh_slope_at(double x) {
    constexpr double kRootTwoOverPi = 0.79788456080286536;
    constexpr double kCubic = 0.044715;
    const double t = std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x));
    const double inner = kRootTwoOverPi * (1 + 3 * kCubic * x * x);
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
  }

  bool tanh_;
};

double sigmoid_slope(double y) {
  return y * (1 - y);
}
double tanh_slope(double y) {
  return 1 - y * y;
}

}  // namespace

extern const KernelDef kGeluGrad = reference_kernel<GeluGrad>("GeluGrad");
extern const KernelDef kReluGrad = reference_kernel<ReluGrad>("ReluGrad");
extern const KernelDef kSigmoidGrad = reference_kernel<SlopeGrad<sigmoid_slope>>("SigmoidGrad");
extern const KernelDef kTanhGrad = reference_kernel<SlopeGrad<tanh_slope>>("TanhGrad");
extern const KernelDef kClipGrad = reference_kernel<ClipGrad>("ClipGrad");

}  // namespace trainyard::kernels::reference
