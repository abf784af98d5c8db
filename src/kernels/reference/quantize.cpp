// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include <algorithm>

#include "kernels/reference/quantized.h"
#include "kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Which scale belongs to an element: one for all, or one per position along an axis.
class ScaleIndex {
 public:
  explicit ScaleIndex(const NodeView& node) {
    if (node.input_shape(1).num_elements() == 1) return;
    const Shape& x = node.input_shape(0);
    const int64_t axis = normalize_axis(node.attr_int("axis", 1), x.rank(), node.op());
    count_ = x[axis];
    step_ = x.num_elements(axis + 1, x.rank());
  }

  int64_t operator()(int64_t i) const { return i / step_ % count_; }

 private:
  int64_t step_ = 1;
  int64_t count_ = 1;
};

// x / scale in f32, the precision the operator is defined in: ties must fall where they fall
// elsewhere.
double quantized_steps(double x, double scale) {
  return double{static_cast<float>(x) / static_cast<float>(scale)};
}

class QuantizeLinear final : public Kernel {
 public:
  explicit QuantizeLinear(const NodeView& node) : scale_index_(node) {}

  void run(const KernelArgs& args) const override {
    for_one_of<float, double, F16, BF16, int32_t>(
        args.inputs[0].dtype, "QuantizeLinear", [&]<typename T>(T) {
          const T* x = args.inputs[0].as<T>();
          const EightBits zero_points(input_or_none(args, 2));
          for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
            const int64_t at = scale_index_(i);
            const double steps =
                quantized_steps(static_cast<double>(x[i]), float_at(args.inputs[1], at));
            store_eight_bits(args.outputs[0], i, steps, zero_points[at]);
          }
        });
  }

 private:
  ScaleIndex scale_index_;
};

class DequantizeLinear final : public Kernel {
 public:
  explicit DequantizeLinear(const NodeView& node) : scale_index_(node) {}

  void run(const KernelArgs& args) const override {
    for_one_of<uint8_t, int8_t, int32_t>(
        args.inputs[0].dtype, "DequantizeLinear", [&]<typename T>(T) {
          const T* x = args.inputs[0].as<T>();
          const T* zero_points = input_or_none(args, 2).as<T>();
          for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
            const int64_t at = scale_index_(i);
            const int64_t steps = int64_t{x[i]} - (zero_points != nullptr ? zero_points[at] : 0);
            store_float(args.outputs[0], i,
                        static_cast<double>(steps) * float_at(args.inputs[1], at));
          }
        });
  }

 private:
  ScaleIndex scale_index_;
};

// Chooses scale and zero point so that u8 covers the elements and zero.
class DynamicQuantizeLinear final : public Kernel {
 public:
  explicit DynamicQuantizeLinear(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    const int64_t count = args.inputs[0].num_elements();
    float smallest = 0;
    float largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(float_at(args.inputs[0], i));
      smallest = std::min(smallest, x);
      largest = std::max(largest, x);
    }
    constexpr float kSteps = 255;
    // All zeros: any scale will do.
    const float scale = largest > smallest ? (largest - smallest) / kSteps : 1.0F;
    const TensorView& zero_point = args.outputs[2];
    store_float(args.outputs[1], 0, scale);
    store_eight_bits(zero_point, 0, quantized_steps(-smallest, scale), 0);
    for (int64_t i = 0; i < count; ++i) {
      store_eight_bits(args.outputs[0], i, quantized_steps(float_at(args.inputs[0], i), scale),
                       *zero_point.as<uint8_t>());
    }
  }
};

}  // namespace

extern const KernelDef kQuantizeLinear = reference_kernel<QuantizeLinear>("QuantizeLinear");
extern const KernelDef kDequantizeLinear = reference_kernel<DequantizeLinear>("DequantizeLinear");
extern const KernelDef kDynamicQuantizeLinear =
    reference_kernel<DynamicQuantizeLinear>("DynamicQuantizeLinear");

}  // namespace trainyard::kernels::reference
