// ConvGradInput and ConvGradWeight: the products of the convolution, gathered by x and by w.
#include <algorithm>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/reference.h"
#include "ops/nn/conv.h"

namespace trainyard::kernels::reference {
namespace {

struct ConvShapes {
  Shape x;
  Shape w;
  int64_t groups;
};

WindowWalk conv_walk(const NodeView& node, const ConvShapes& shapes) {
  const auto spatial = shapes.x.dims().subspan(2);
  return {ops::conv_window(node, shapes.x, shapes.w), {spatial.begin(), spatial.end()}};
}

// Calls visit(i, j, k) for every product x[i] * w[j] that goes into y[k].
template <typename F>
void for_each_product(const WindowWalk& walk, const ConvShapes& shapes, F&& visit) {
  const int64_t outputs = shapes.w[0];
  const int64_t depth = shapes.w[1];
  for (int64_t nm = 0; nm < shapes.x[0] * outputs; ++nm) {
    const int64_t m = nm % outputs;
    const int64_t first = nm / outputs * shapes.x[1] + m / (outputs / shapes.groups) * depth;
    for (int64_t position = 0; position < walk.output_size(); ++position) {
      walk.for_each(position, [&](int64_t tap, int64_t at) {
        for (int64_t c = 0; c < depth; ++c) {
          visit((first + c) * walk.input_size() + at, (m * depth + c) * walk.kernel_size() + tap,
                nm * walk.output_size() + position);
        }
      });
    }
  }
}

class ConvGradInput final : public Kernel {
 public:
  explicit ConvGradInput(const NodeView& node)
      : shapes_{node.output_shape(0), node.input_shape(1), node.attr_int("group", 1)},
        walk_(conv_walk(node, shapes_)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) {
      const T* dy = args.inputs[0].as<T>();
      const T* w = args.inputs[1].as<T>();
      T* dx = args.outputs[0].as<T>();
      std::fill_n(dx, args.outputs[0].num_elements(), T{});
      for_each_product(walk_, shapes_, [&](int64_t i, int64_t j, int64_t k) {
        dx[i] = static_cast<T>(static_cast<double>(dx[i]) + static_cast<double>(w[j]) * dy[k]);
      });
    });
  }

 private:
  ConvShapes shapes_;
  WindowWalk walk_;
};

class ConvGradWeight final : public Kernel {
 public:
  explicit ConvGradWeight(const NodeView& node)
      : shapes_{node.input_shape(0), node.output_shape(0), node.attr_int("group", 1)},
        walk_(conv_walk(node, shapes_)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) {
      const T* x = args.inputs[0].as<T>();
      const T* dy = args.inputs[1].as<T>();
      T* dw = args.outputs[0].as<T>();
      std::fill_n(dw, args.outputs[0].num_elements(), T{});
      for_each_product(walk_, shapes_, [&](int64_t i, int64_t j, int64_t k) {
        dw[j] = static_cast<T>(static_cast<double>(dw[j]) + static_cast<double>(x[i]) * dy[k]);
      });
    });
  }

 private:
  ConvShapes shapes_;
  WindowWalk walk_;
};

}  // namespace

extern const KernelDef kConvGradInput = reference_kernel<ConvGradInput>("ConvGradInput");
extern const KernelDef kConvGradWeight = reference_kernel<ConvGradWeight>("ConvGradWeight");

}  // namespace trainyard::kernels::reference
