// LayerNormalization with its statistics.
#include <cmath>

#include "engine/kernels/reference/layout/indexing.h"
#include "engine/kernels/reference/nn/moments.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class LayerNormalization final : public Kernel {
 public:
  explicit LayerNormalization(const NodeView& node)
      : axis_(normalize_axis(node.attr_int("axis", -1), node.input_shape(0).rank(), node.op())),
        epsilon_(node.attr_float("epsilon", 1e-5F)),
        scale_strides_(broadcast_strides(node.input_shape(1), node.input_shape(0))) {
    if (node.has_input(2)) {
      bias_strides_ = broadcast_strides(node.input_shape(2), node.input_shape(0));
    }
  }

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    const int64_t inner = shape.num_elements(axis_, shape.rank());
    for (int64_t row = 0; row < shape.num_elements(0, axis_); ++row) {
      const T* x = args.inputs[0].as<T>() + row * inner;
      const Moments moments =
          moments_of(inner, [&](int64_t i) { return static_cast<double>(x[i]); });
      const double inverse = 1.0 / std::sqrt(moments.variance + epsilon_);
      for (int64_t i = 0; i < inner; ++i) {
        const double normal = (static_cast<double>(x[i]) - moments.mean) * inverse;
        args.outputs[0].as<T>()[row * inner + i] =
            scale_and_shift<T>(args, row * inner + i, normal);
      }
      store_statistic(output_or_none(args, 1), row, moments.mean);
      store_statistic(output_or_none(args, 2), row, inverse);
    }
  }

  template <typename T>
  T scale_and_shift(const KernelArgs& args, int64_t i, double normal) const {
    const Shape& shape = *args.inputs[0].shape;
    const T scale = args.inputs[1].as<T>()[strided_offset(i, shape.dims(), scale_strides_)];
    double y = normal * static_cast<double>(scale);
    if (const T* bias = input_or_none(args, 2).as<T>()) {
      y += static_cast<double>(bias[strided_offset(i, shape.dims(), bias_strides_)]);
    }
    return static_cast<T>(y);
  }

  static void store_statistic(const TensorView& statistic, int64_t row, double value) {
    if (statistic.data != nullptr) store_float(statistic, row, value);
  }

  int64_t axis_;
  double epsilon_;
  std::vector<int64_t> scale_strides_;
  std::vector<int64_t> bias_strides_;
};

}  // namespace

extern const KernelDef kLayerNormalization =
    reference_kernel<LayerNormalization>("LayerNormalization");

}  // namespace trainyard::kernels::reference
