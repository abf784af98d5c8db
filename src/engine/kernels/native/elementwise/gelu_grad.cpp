// GeluGrad: dx = dy * slope(x), by the error function or by tanh.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/elementwise.h"
#include "engine/kernels/native/vector_math.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_gelu_grad(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

template <typename Slope>
void scale_by_slope(const float* x, const float* dy, float* dx, int64_t count, const Slope& slope) {
  int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    _mm256_storeu_ps(dx + i, times(_mm256_loadu_ps(dy + i), slope(_mm256_loadu_ps(x + i))));
  }
  if (i == count) return;
  alignas(32) float rest[kVector] = {};
  std::copy_n(x + i, count - i, rest);
  _mm256_store_ps(rest, slope(_mm256_load_ps(rest)));
  for (int64_t lane = 0; i < count; ++i, ++lane) dx[i] = dy[i] * rest[lane];
}

class GeluGrad final : public Kernel {
 public:
  GeluGrad(const NodeView& node, const NodeLayouts& layouts)
      : by_tanh_(node.attr_text("approximate", "none") == "tanh"),
        runs_(node.input_shape(0),
              std::vector{layouts.inputs[0], layouts.inputs[1], layouts.outputs[0]}) {}

  void run(const KernelArgs& args) const override {
    runs_.for_each([&](int64_t image, int64_t first, int64_t count) {
      const float* x = args.inputs[0].as<float>() + runs_.offset(0, image, first);
      const float* dy = args.inputs[1].as<float>() + runs_.offset(1, image, first);
      float* dx = args.outputs[0].as<float>() + runs_.offset(2, image, first);
      if (by_tanh_) {
        scale_by_slope(x, dy, dx, count, [](__m256 v) { return gelu_by_tanh_slope_vector(v); });
      } else {
        scale_by_slope(x, dy, dx, count, [](__m256 v) { return gelu_slope_vector(v); });
      }
    });
  }

 private:
  bool by_tanh_;
  ElementRuns runs_;
};

// Where x is padding dy is zero, and dx stays so.
std::optional<NodeLayouts> layouts_gelu_grad(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = common_layout(node.input_shape(0), inputs.first(2), /*fit=*/true);
  return NodeLayouts{.inputs = {layout, layout},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 1};
}

std::unique_ptr<Kernel> create_gelu_grad(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<GeluGrad>(node, layouts);
}

}  // namespace

extern const KernelDef kGeluGrad = {.op = "GeluGrad",
                                    .library = "native",
                                    .refuses = refuses_gelu_grad,
                                    .layouts = layouts_gelu_grad,
                                    .create_in = create_gelu_grad};

}  // namespace trainyard::kernels::native
