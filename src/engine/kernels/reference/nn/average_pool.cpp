// AveragePool and GlobalAveragePool.
#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

class AveragePool final : public Kernel {
 public:
  explicit AveragePool(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        count_padding_(node.attr_int("count_include_pad", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    for (int64_t nc = 0; nc < shape[0] * shape[1]; ++nc) {
      const T* x = args.inputs[0].as<T>() + nc * walk_.input_size();
      T* y = args.outputs[0].as<T>() + nc * walk_.output_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        double sum = 0;
        int64_t count = 0;
        walk_.for_each(position, [&](int64_t, int64_t at) {
          sum += x[at];
          ++count;
        });
        if (count_padding_) count = walk_.count_with_padding(position);
        y[position] = static_cast<T>(sum / static_cast<double>(count));
      }
    }
  }

  WindowWalk walk_;
  bool count_padding_;
};

}  // namespace

extern const KernelDef kAveragePool = reference_kernel<AveragePool>("AveragePool");
extern const KernelDef kGlobalAveragePool = reference_kernel<AveragePool>("GlobalAveragePool");

}  // namespace trainyard::kernels::reference
