// Relu and Clip, and the gradients of these, Sigmoid and Tanh, in whatever blocks of channels their
// operands have.
#include "engine/kernels/native/elementwise/clamp.h"

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/elementwise/elementwise.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_clamp(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

// Inputs from `first` on are the bounds of Clip and ClipGrad; Relu has none.
Activation bounds_of(const KernelArgs& args, bool relu, size_t first) {
  if (relu) return kRelu;
  Activation bounds;
  const auto given = [&](size_t i) {
    return i < args.inputs.size() && args.inputs[i].data != nullptr;
  };
  if (given(first)) bounds.low = *args.inputs[first].as<float>();
  if (given(first + 1)) bounds.high = *args.inputs[first + 1].as<float>();
  return bounds;
}

class ClampForward final : public Kernel {
 public:
  ClampForward(const NodeView& node, const NodeLayouts& layouts)
      : relu_(node.op() == "Relu"),
        runs_(node.input_shape(0), std::vector{layouts.inputs[0], layouts.outputs[0]}) {}

  void run(const KernelArgs& args) const override {
    const Activation bounds = bounds_of(args, relu_, 1);
    const ClampVectors clamp(bounds);
    runs_.for_each([&](int64_t image, int64_t first, int64_t count) {
      const float* x = args.inputs[0].as<float>() + runs_.offset(0, image, first);
      float* y = args.outputs[0].as<float>() + runs_.offset(1, image, first);
      int64_t i = 0;
      for (; i + kVector <= count; i += kVector) {
        _mm256_storeu_ps(y + i, clamp(_mm256_loadu_ps(x + i)));
      }
      for (; i < count; ++i) {
        const float above = x[i] < bounds.low ? bounds.low : x[i];
        y[i] = above > bounds.high ? bounds.high : above;
      }
    });
  }

 private:
  bool relu_;
  ElementRuns runs_;
};

// Inputs: y, dy, bounds.
class Backward final : public Kernel {
 public:
  Backward(const NodeView& node, const NodeLayouts& layouts)
      : relu_(node.op() == "ReluGrad"),
        runs_(node.input_shape(0),
              std::vector{layouts.inputs[0], layouts.inputs[1], layouts.outputs[0]}) {}

  void run(const KernelArgs& args) const override {
    const Activation bounds = bounds_of(args, relu_, 2);
    const ClampVectors clamp(bounds);
    runs_.for_each([&](int64_t image, int64_t first, int64_t count) {
      const float* y = args.inputs[0].as<float>() + runs_.offset(0, image, first);
      const float* dy = args.inputs[1].as<float>() + runs_.offset(1, image, first);
      float* dx = args.outputs[0].as<float>() + runs_.offset(2, image, first);
      int64_t i = 0;
      for (; i + kVector <= count; i += kVector) {
        const __m256 passes = clamp.passes(_mm256_loadu_ps(y + i));
        _mm256_storeu_ps(dx + i, _mm256_and_ps(_mm256_loadu_ps(dy + i), passes));
      }
      for (; i < count; ++i) dx[i] = bounds.low < y[i] && y[i] < bounds.high ? dy[i] : 0.0F;
    });
  }

 private:
  bool relu_;
  ElementRuns runs_;
};

// Inputs: y, dy. dx = dy * slope(y).
template <typename Slope>
class SmoothBackward final : public Kernel {
 public:
  SmoothBackward(const NodeView& node, const NodeLayouts& layouts)
      : runs_(node.input_shape(0),
              std::vector{layouts.inputs[0], layouts.inputs[1], layouts.outputs[0]}) {}

  void run(const KernelArgs& args) const override {
    runs_.for_each([&](int64_t image, int64_t first, int64_t count) {
      const float* y = args.inputs[0].as<float>() + runs_.offset(0, image, first);
      const float* dy = args.inputs[1].as<float>() + runs_.offset(1, image, first);
      float* dx = args.outputs[0].as<float>() + runs_.offset(2, image, first);
      for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * Slope::of(y[i]);
    });
  }

 private:
  ElementRuns runs_;
};

struct SigmoidSlope {
  static float of(float y) { return y * (1.0F - y); }
};
struct TanhSlope {
  static float of(float y) { return 1.0F - y * y; }
};

// Is zero known to stay zero?
bool keeps_zero(const NodeView& node) {
  const ops::ActivationSpec spec = ops::activation_from(node);
  return !spec.op.empty() && spec(0.0) == 0.0;
}

std::optional<NodeLayouts> forward_layouts_clamp(const NodeView& node,
                                                 std::span<const Layout> inputs) {
  const Layout layout =
      common_layout(node.input_shape(0), inputs.first(1), /*fit=*/keeps_zero(node));
  NodeLayouts wanted{.inputs = {layout},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 0};
  wanted.inputs.resize(node.num_inputs());
  return wanted;
}

std::optional<NodeLayouts> backward_layouts(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = common_layout(node.input_shape(0), inputs.first(2), /*fit=*/true);
  NodeLayouts wanted{.inputs = {layout, layout},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 1};
  wanted.inputs.resize(node.num_inputs());
  return wanted;
}

template <typename K>
std::unique_ptr<Kernel> create_clamp(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<K>(node, layouts);
}

constexpr KernelDef forward_kernel_clamp(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_clamp,
          .layouts = forward_layouts_clamp,
          .create_in = create_clamp<ClampForward>};
}

template <typename K>
constexpr KernelDef backward_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_clamp,
          .layouts = backward_layouts,
          .create_in = create_clamp<K>};
}

}  // namespace

extern const KernelDef kClip = forward_kernel_clamp("Clip");
extern const KernelDef kClipGrad = backward_kernel<Backward>("ClipGrad");
extern const KernelDef kReluForward = forward_kernel_clamp("Relu");
extern const KernelDef kReluGrad = backward_kernel<Backward>("ReluGrad");
extern const KernelDef kSigmoidGrad = backward_kernel<SmoothBackward<SigmoidSlope>>("SigmoidGrad");
extern const KernelDef kTanhGrad = backward_kernel<SmoothBackward<TanhSlope>>("TanhGrad");

}  // namespace trainyard::kernels::native
