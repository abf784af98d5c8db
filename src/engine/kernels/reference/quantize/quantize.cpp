// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "engine/kernels/reference/quantize/quantized.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Which scale belongs to an element: one for all, one per position along an axis, or one per block
// of positions.
class ScaleIndex {
 public:
  explicit ScaleIndex(const NodeView& node) {
    if (node.input_shape(1).num_elements() == 1) return;
    const Shape& x = node.input_shape(0);
    const int64_t axis = normalize_axis(node.attr_int("axis", 1), x.rank(), node.op());
    count_ = x[axis];
    step_ = x.num_elements(axis + 1, x.rank());
    block_ = node.attr_int("block_size", 0);
    if (block_ > 0) scales_ = node.input_shape(1)[axis];
  }

  int64_t operator()(int64_t i) const {
    const int64_t at = i / step_ % count_;
    if (block_ == 0) return at;
    return (i / step_ / count_ * scales_ + at / block_) * step_ + i % step_;
  }

 private:
  int64_t step_ = 1;
  int64_t count_ = 1;
  int64_t block_ = 0;
  int64_t scales_ = 1;
};

// x / scale in f32, the precision the operator is defined in: ties must fall where they fall
// elsewhere.
double quantized_steps(double x, double scale) {
  return double{static_cast<float>(x) / static_cast<float>(scale)};
}

// The numbers from `low` to `high` that integers of a type hold.
struct StepRange {
  double low;
  double high;
};

StepRange range_of(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU16:
      return {0, 65535};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI4:
      return {-8, 7};
    case DType::kU4:
      return {0, 15};
    case DType::kI2:
      return {-2, 1};
    case DType::kU2:
      return {0, 3};
    default:
      return {0, 255};
  }
}

bool is_small_float(DType dtype) {
  return is_narrow(dtype) && (narrow_bits(dtype) == 8 || dtype == DType::kF4E2M1);
}

class QuantizeLinear final : public Kernel {
 public:
  explicit QuantizeLinear(const NodeView& node)
      : scale_index_(node),
        y_(node.output_type(0).dtype),
        range_(range_of(y_)),
        saturate_(node.attr_int("saturate", 1) != 0) {}

  void run(const KernelArgs& args) const override {
    const TensorView zero_points = input_or_none(args, 2);
    const TensorView& y = args.outputs[0];
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      const int64_t at = scale_index_(i);
      const double steps = quantized_steps(element_as_double(args.inputs[0], i),
                                           element_as_double(args.inputs[1], at));
      const double zero = zero_points.data != nullptr ? element_as_double(zero_points, at) : 0.0;
      store(y, i, steps, zero);
    }
  }

 private:
  void store(const TensorView& y, int64_t i, double steps, double zero) const {
    if (is_small_float(y_)) {
      y.as<uint8_t>()[i] =
          f32_to_narrow(y_, static_cast<float>(steps + zero), {.saturate = saturate_, .round = {}});
      return;
    }
    const double value = std::nearbyint(steps) + zero;
    const double kept = std::fmin(std::fmax(value, range_.low), range_.high);
    if (is_narrow(y_)) {
      y.as<uint8_t>()[i] = f32_to_narrow(y_, static_cast<float>(kept));
    } else if (dtype_size(y_) == 1) {
      y.as<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int>(kept));
    } else {
      y.as<uint16_t>()[i] = static_cast<uint16_t>(static_cast<int>(kept));
    }
  }

  ScaleIndex scale_index_;
  DType y_;
  StepRange range_;
  bool saturate_;
};

class DequantizeLinear final : public Kernel {
 public:
  explicit DequantizeLinear(const NodeView& node) : scale_index_(node) {}

  void run(const KernelArgs& args) const override {
    const TensorView zero_points = input_or_none(args, 2);
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      const int64_t at = scale_index_(i);
      const double zero = zero_points.data != nullptr ? element_as_double(zero_points, at) : 0.0;
      const double steps = element_as_double(args.inputs[0], i) - zero;
      store_float(args.outputs[0], i, steps * element_as_double(args.inputs[1], at));
    }
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
