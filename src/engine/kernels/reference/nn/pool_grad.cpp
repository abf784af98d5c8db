// MaxPoolGrad and AveragePoolGrad: each dy goes to the maximum of its window, or evenly to all of
// it.
#include <algorithm>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

WindowWalk pool_walk(const NodeView& node, const Shape& x) {
  const auto spatial = x.dims().subspan(2);
  return {ops::resolve_window(node, x, node.attr_ints("kernel_shape", {})),
          {spatial.begin(), spatial.end()}};
}

class MaxPoolGrad final : public Kernel {
 public:
  explicit MaxPoolGrad(const NodeView& node) : walk_(pool_walk(node, node.input_shape(0))) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const int64_t planes = args.inputs[0].shape->num_elements(0, 2);
    std::fill_n(args.outputs[0].as<T>(), args.outputs[0].num_elements(), T{});
    for (int64_t plane = 0; plane < planes; ++plane) {
      const T* x = args.inputs[0].as<T>() + plane * walk_.input_size();
      const T* dy = args.inputs[1].as<T>() + plane * walk_.output_size();
      T* dx = args.outputs[0].as<T>() + plane * walk_.input_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        int64_t best = -1;
        walk_.for_each(position, [&](int64_t, int64_t at) {
          if (best < 0 || x[at] > x[best]) best = at;
        });
        if (best >= 0) dx[best] = static_cast<T>(dx[best] + dy[position]);
      }
    }
  }

  WindowWalk walk_;
};

class AveragePoolGrad final : public Kernel {
 public:
  explicit AveragePoolGrad(const NodeView& node)
      : walk_(pool_walk(node, node.output_shape(0))),
        with_padding_(node.attr_int("count_include_pad", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const int64_t planes = args.outputs[0].shape->num_elements(0, 2);
    std::fill_n(args.outputs[0].as<T>(), args.outputs[0].num_elements(), T{});
    for (int64_t plane = 0; plane < planes; ++plane) {
      const T* dy = args.inputs[0].as<T>() + plane * walk_.output_size();
      T* dx = args.outputs[0].as<T>() + plane * walk_.input_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        int64_t count = 0;
        walk_.for_each(position, [&](int64_t, int64_t) { ++count; });
        if (with_padding_) count = walk_.count_with_padding(position);
        walk_.for_each(position, [&](int64_t, int64_t at) {
          dx[at] = static_cast<T>(dx[at] + dy[position] / static_cast<double>(count));
        });
      }
    }
  }

  WindowWalk walk_;
  bool with_padding_;
};

}  // namespace

extern const KernelDef kMaxPoolGrad = reference_kernel<MaxPoolGrad>("MaxPoolGrad");
extern const KernelDef kAveragePoolGrad = reference_kernel<AveragePoolGrad>("AveragePoolGrad");

}  // namespace trainyard::kernels::reference
