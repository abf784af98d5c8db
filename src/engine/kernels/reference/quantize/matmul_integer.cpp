// MatMulInteger, ScaledMatMulInteger and QLinearMatMul.
#include "engine/kernels/reference/math/matmul.h"
#include "engine/kernels/reference/quantize/quantized.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Sums of (a - a_zero) * (b - b_zero), exact.
template <typename Emit>
void multiply_integers(const MatMulSizes& sizes, const TensorView& a, const TensorView& a_zero,
                       const TensorView& b, const TensorView& b_zero, Emit&& emit) {
  const EightBits as(a);
  const EightBits bs(b);
  const EightBits a_shifts(a_zero);
  const EightBits b_shifts(b_zero);
  sizes.multiply<int64_t>([&](int64_t i, int64_t row) { return as[i] - a_shifts[row]; },
                          [&](int64_t i, int64_t column) { return bs[i] - b_shifts[column]; },
                          emit);
}

class MatMulInteger final : public Kernel {
 public:
  explicit MatMulInteger(const NodeView& node) : sizes_(node.input_shape(0), node.input_shape(1)) {}

  void run(const KernelArgs& args) const override {
    auto* y = args.outputs[0].as<int32_t>();
    multiply_integers(
        sizes_, args.inputs[0], input_or_none(args, 2), args.inputs[1], input_or_none(args, 3),
        [&](int64_t i, int64_t, int64_t, int64_t sum) { y[i] = static_cast<int32_t>(sum); });
  }

 private:
  MatMulSizes sizes_;
};

class ScaledMatMulInteger final : public Kernel {
 public:
  explicit ScaledMatMulInteger(const NodeView& node)
      : sizes_(node.input_shape(0), node.input_shape(1)) {}

  void run(const KernelArgs& args) const override {
    const Scaling scaling(args);
    auto* y = args.outputs[0].as<float>();
    multiply_integers(
        sizes_, args.inputs[0], args.inputs[2], args.inputs[1], args.inputs[3],
        [&](int64_t i, int64_t, int64_t column, int64_t sum) { y[i] = scaling(sum, column); });
  }

 private:
  MatMulSizes sizes_;
};

class QLinearMatMul final : public Kernel {
 public:
  explicit QLinearMatMul(const NodeView& node) : sizes_(node.input_shape(0), node.input_shape(3)) {}

  void run(const KernelArgs& args) const override {
    const Scales a_scale(args.inputs[1]);
    const Scales b_scale(args.inputs[4]);
    const auto y_scale = static_cast<float>(float_at(args.inputs[6], 0));
    const int64_t y_zero = EightBits(args.inputs[7])[0];
    multiply_integers(
        sizes_, args.inputs[0], args.inputs[2], args.inputs[3], args.inputs[5],
        [&](int64_t i, int64_t row, int64_t column, int64_t sum) {
          // In f32, as QuantizedConv: ties must fall where they fall elsewhere.
          const float scale =
              static_cast<float>(a_scale[row]) * static_cast<float>(b_scale[column]) / y_scale;
          store_eight_bits(args.outputs[0], i, double{static_cast<float>(sum) * scale}, y_zero);
        });
  }

 private:
  MatMulSizes sizes_;
};

}  // namespace

extern const KernelDef kMatMulInteger = reference_kernel<MatMulInteger>("MatMulInteger");
extern const KernelDef kScaledMatMulInteger =
    reference_kernel<ScaledMatMulInteger>("ScaledMatMulInteger");
extern const KernelDef kQLinearMatMul = reference_kernel<QLinearMatMul>("QLinearMatMul");

}  // namespace trainyard::kernels::reference
