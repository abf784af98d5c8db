// LRN over five channels with the exponent 3/4 that networks use, on blocks of eight channels.

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/norm/lrn_window.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

class Lrn final : public Kernel {
 public:
  Lrn(const NodeView& node, const NodeLayouts& layouts)
      : x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.input_shape(0), layouts.outputs[0])),
        alpha_(node.attr_float("alpha", 0.0001F) / static_cast<float>(kLrnSize)),
        bias_(node.attr_float("bias", 1.0F)) {}

  void run(const KernelArgs& args) const override {
    parallel_for(x_.images * x_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / x_.planes;
        const int64_t plane = i % x_.planes;
        const int64_t at = plane * x_.plane_elements();
        run_plane(args.inputs[0].as<float>() + image * x_.image_stride + at,
                  args.outputs[0].as<float>() + image * y_.image_stride + at, plane);
      }
    });
  }

 private:
  void run_plane(const float* x, float* y, int64_t plane) const {
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 bias = _mm256_set1_ps(bias_);
    const int64_t step = x_.plane_elements();
    const auto square = [](const float* at) {
      const __m256 v = _mm256_loadu_ps(at);
      return _mm256_mul_ps(v, v);
    };
    for (int64_t i = 0; i < step; i += kVector) {
      const __m256 v = _mm256_loadu_ps(x + i);
      const __m256 own = _mm256_mul_ps(v, v);
      // The channels before and after lie in the same block, or in the next plane.
      const int64_t lane = i % x_.block;
      const int64_t other = x_.block - kVector;
      const __m256 before = lane > 0    ? square(x + i - kVector)
                            : plane > 0 ? square(x + i - step + other)
                                        : _mm256_setzero_ps();
      const __m256 after = lane < other            ? square(x + i + kVector)
                           : plane + 1 < x_.planes ? square(x + i + step - other)
                                                   : _mm256_setzero_ps();
      const __m256 sum = sum_of_five(before, own, after);
      const __m256 root = _mm256_sqrt_ps(_mm256_fmadd_ps(sum, alpha, bias));
      // s^(3/4) = sqrt(s) * sqrt(sqrt(s))
      const __m256 power = _mm256_mul_ps(root, _mm256_sqrt_ps(root));
      _mm256_storeu_ps(y + i, _mm256_div_ps(v, power));
    }
  }

  Planes x_;
  Planes y_;
  float alpha_;
  float bias_;
};

std::optional<NodeLayouts> layouts_lrn(const NodeView& node, std::span<const Layout> inputs) {
  const Shape& x = node.input_shape(0);
  const Layout layout = Layout::channel_blocks(x, block_like(x, inputs[0]));
  return NodeLayouts{.inputs = {layout}, .outputs = {layout}, .takes_parts = true};
}

std::unique_ptr<Kernel> create_lrn(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Lrn>(node, layouts);
}

}  // namespace

extern const KernelDef kLRN = {.op = "LRN",
                               .library = "native",
                               .refuses = refuses_lrn,
                               .layouts = layouts_lrn,
                               .create_in = create_lrn};

}  // namespace trainyard::kernels::native
