// LRNGrad over five channels with the exponent 3/4, on blocks of eight channels. With s the sum of
// LRN and t = dy * x * s^(-7/4): dx = dy * s^(-3/4) - 2 * alpha * beta / 5 * x * (sum of t over the
// window).
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/norm/lrn_window.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

// Positions worked on together, plane by plane.
constexpr int64_t kStrip = 32;

class LrnGrad final : public Kernel {
 public:
  LrnGrad(const NodeView& node, const NodeLayouts& layouts)
      : x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        dy_(planes_of(node.input_shape(0), layouts.inputs[1])),
        dx_(planes_of(node.input_shape(0), layouts.outputs[0])),
        alpha_(node.attr_float("alpha", 0.0001F) / static_cast<float>(kLrnSize)),
        bias_(node.attr_float("bias", 1.0F)) {}

  void run(const KernelArgs& args) const override {
    const int64_t strips = (x_.positions + kStrip - 1) / kStrip;
    parallel_for(x_.images * strips, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / strips;
        const int64_t first = i % strips * kStrip;
        run_strip(args.inputs[0].as<float>() + image * x_.image_stride + first * kVector,
                  args.inputs[1].as<float>() + image * dy_.image_stride + first * kVector,
                  args.outputs[0].as<float>() + image * dx_.image_stride + first * kVector,
                  std::min(kStrip, x_.positions - first));
      }
    });
  }

 private:
  // Of one plane of a strip: what its channels send to their neighbors, and dy * s^(-3/4).
  struct Line {
    __m256 through[kStrip];
    __m256 direct[kStrip];
  };

  void run_strip(const float* x, const float* dy, float* dx, int64_t count) const {
    Line lines[3];
    for (int64_t i = 0; i < count; ++i) lines[2].through[i] = _mm256_setzero_ps();
    fill_line(x, dy, 0, count, lines[0]);
    const __m256 slope = _mm256_set1_ps(-2.0F * kLrnExponent * alpha_);
    for (int64_t plane = 0; plane < x_.planes; ++plane) {
      const Line& before = lines[(plane + 2) % 3];
      const Line& own = lines[plane % 3];
      Line& after = lines[(plane + 1) % 3];
      if (plane + 1 < x_.planes) {
        fill_line(x, dy, plane + 1, count, after);
      } else {
        for (int64_t i = 0; i < count; ++i) after.through[i] = _mm256_setzero_ps();
      }
      const int64_t at = plane * x_.plane_elements();
      for (int64_t i = 0; i < count; ++i) {
        const __m256 sum = sum_of_five(before.through[i], own.through[i], after.through[i]);
        const __m256 v = _mm256_loadu_ps(x + at + i * kVector);
        _mm256_storeu_ps(dx + at + i * kVector,
                         _mm256_fmadd_ps(_mm256_mul_ps(slope, v), sum, own.direct[i]));
      }
    }
  }

  void fill_line(const float* x, const float* dy, int64_t plane, int64_t count, Line& line) const {
    const __m256 alpha = _mm256_set1_ps(alpha_);
    const __m256 bias = _mm256_set1_ps(bias_);
    const int64_t step = x_.plane_elements();
    const float* at = x + plane * step;
    const auto square = [](const float* from) {
      const __m256 v = _mm256_loadu_ps(from);
      return _mm256_mul_ps(v, v);
    };
    for (int64_t i = 0; i < count; ++i, at += kVector) {
      const __m256 v = _mm256_loadu_ps(at);
      const __m256 before = plane > 0 ? square(at - step) : _mm256_setzero_ps();
      const __m256 after = plane + 1 < x_.planes ? square(at + step) : _mm256_setzero_ps();
      const __m256 sum = sum_of_five(before, _mm256_mul_ps(v, v), after);
      const __m256 s = _mm256_fmadd_ps(sum, alpha, bias);
      const __m256 root = _mm256_sqrt_ps(s);
      // s^(3/4) = sqrt(s) * sqrt(sqrt(s))
      const __m256 power = _mm256_mul_ps(root, _mm256_sqrt_ps(root));
      const __m256 g = _mm256_loadu_ps(dy + plane * step + i * kVector);
      line.direct[i] = _mm256_div_ps(g, power);
      line.through[i] = _mm256_div_ps(_mm256_mul_ps(line.direct[i], v), s);
    }
  }

  Planes x_;
  Planes dy_;
  Planes dx_;
  float alpha_;
  float bias_;
};

std::optional<NodeLayouts> layouts_lrn_grad(const NodeView& node,
                                            std::span<const Layout> /*inputs*/) {
  const Layout layout = Layout::channel_blocks(node.input_shape(0), kVector);
  return NodeLayouts{.inputs = {layout, layout}, .outputs = {layout}, .takes_parts = true};
}

std::unique_ptr<Kernel> create_lrn_grad(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<LrnGrad>(node, layouts);
}

}  // namespace

extern const KernelDef kLRNGrad = {.op = "LRNGrad",
                                   .library = "native",
                                   .refuses = refuses_lrn,
                                   .layouts = layouts_lrn_grad,
                                   .create_in = create_lrn_grad};

}  // namespace trainyard::kernels::native
