// InstanceNormalization: each channel of each image by its own mean and deviation, row-major.
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/norm/row_sum.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_instance_norm(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  for (size_t i = 0; i < 3; ++i) {
    if (node.input_type(i).dtype != DType::kF32) return kOnlyF32;
  }
  if (node.output_shape(0).num_elements() == 0) return "the input is empty";
  return "";
}

class InstanceNorm final : public Kernel {
 public:
  explicit InstanceNorm(const NodeView& node)
      : rows_(node.input_shape(0).num_elements(0, 2)),
        channels_(node.input_shape(0)[1]),
        positions_(node.input_shape(0).num_elements(2, node.input_shape(0).rank())),
        epsilon_(node.attr_float("epsilon", 1e-5F)) {}

  void run(const KernelArgs& args) const override {
    const auto* x = args.inputs[0].as<const float>();
    const auto* scale = args.inputs[1].as<const float>();
    const auto* bias = args.inputs[2].as<const float>();
    auto* y = args.outputs[0].as<float>();
    parallel_for(rows_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* from = x + row * positions_;
        float* to = y + row * positions_;
        const RowMoments moments = row_moments(from, positions_);
        const float factor = scale[row % channels_] / std::sqrt(moments.variance + epsilon_);
        const float shift = bias[row % channels_];
        for (int64_t i = 0; i < positions_; ++i) {
          to[i] = (from[i] - moments.mean) * factor + shift;
        }
      }
    });
  }

 private:
  int64_t rows_;
  int64_t channels_;
  int64_t positions_;
  float epsilon_;
};

}  // namespace

extern const KernelDef kInstanceNormalization = {
    .op = "InstanceNormalization",
    .library = "native",
    .refuses = refuses_instance_norm,
    .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
      return std::make_unique<InstanceNorm>(node);
    }};

}  // namespace trainyard::kernels::native
