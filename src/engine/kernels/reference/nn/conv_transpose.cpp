// ConvTranspose: the windows of the corresponding Conv, written to instead of read.
#include <algorithm>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// The walk of the convolution that maps Y to X.
WindowWalk forward_walk(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  ops::Window window = ops::resolve_transposed_window(node, x, node.input_shape(1));
  std::vector<int64_t> sizes = window.output;
  window.output.assign(x.dims().begin() + 2, x.dims().end());
  return {std::move(window), std::move(sizes)};
}

class ConvTranspose final : public Kernel {
 public:
  explicit ConvTranspose(const NodeView& node)
      : walk_(forward_walk(node)), groups_(node.attr_int("group", 1)) {}

  int64_t scratch_bytes() const override {
    return walk_.input_size() * static_cast<int64_t>(sizeof(double));
  }

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& x_shape = *args.inputs[0].shape;
    const int64_t channels = (*args.outputs[0].shape)[1];
    const T* bias = input_or_none(args, 2).as<T>();
    auto* sums = reinterpret_cast<double*>(args.scratch.data());
    for (int64_t nm = 0; nm < x_shape[0] * channels; ++nm) {
      const int64_t m = nm % channels;
      std::fill_n(sums, walk_.input_size(), bias != nullptr ? static_cast<double>(bias[m]) : 0.0);
      spread<T>(args, nm / channels, m, channels / groups_, sums);
      T* y = args.outputs[0].as<T>() + nm * walk_.input_size();
      for (int64_t i = 0; i < walk_.input_size(); ++i) y[i] = static_cast<T>(sums[i]);
    }
  }

  // Adds what all input channels of its group give to output channel `m` of image `n`.
  template <typename T>
  void spread(const KernelArgs& args, int64_t n, int64_t m, int64_t group_outputs,
              double* sums) const {
    const int64_t channels = (*args.inputs[0].shape)[1];
    const int64_t group_inputs = channels / groups_;
    const int64_t first = m / group_outputs * group_inputs;
    for (int64_t c = first; c < first + group_inputs; ++c) {
      const T* x = args.inputs[0].as<T>() + (n * channels + c) * walk_.output_size();
      const T* w =
          args.inputs[1].as<T>() + (c * group_outputs + m % group_outputs) * walk_.kernel_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        walk_.for_each(position, [&](int64_t tap, int64_t at) {
          sums[at] += static_cast<double>(x[position]) * static_cast<double>(w[tap]);
        });
      }
    }
  }

  WindowWalk walk_;
  int64_t groups_;
};

}  // namespace

extern const KernelDef kConvTranspose = reference_kernel<ConvTranspose>("ConvTranspose");

}  // namespace trainyard::kernels::reference
