// MaxUnpool.
#include "ops/nn/max_unpool.h"

#include <algorithm>

#include "engine/kernels/reference/layout/indexing.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class MaxUnpool final : public Kernel {
 public:
  explicit MaxUnpool(const NodeView& node)
      : indexed_(ops::unpooled_shape(node)), strides_(node.output_shape(0).strides()) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const T* x = args.inputs[0].as<T>();
    const int64_t* indices = args.inputs[1].as<int64_t>();
    T* y = args.outputs[0].as<T>();
    std::fill_n(y, args.outputs[0].num_elements(), static_cast<T>(0.0));
    const int64_t limit = indexed_.num_elements();
    for (int64_t i = 0; i < args.inputs[0].num_elements(); ++i) {
      TY_REQUIRE(0 <= indices[i] && indices[i] < limit,
                 "MaxUnpool: index {} is outside the {} elements of {}", indices[i], limit,
                 indexed_.to_string());
      y[strided_offset(indices[i], indexed_.dims(), strides_)] = x[i];
    }
  }

  Shape indexed_;  // the shape the indices count in
  std::vector<int64_t> strides_;
};

}  // namespace

extern const KernelDef kMaxUnpool = reference_kernel<MaxUnpool>("MaxUnpool");

}  // namespace trainyard::kernels::reference
