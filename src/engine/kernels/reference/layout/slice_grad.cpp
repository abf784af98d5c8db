// SliceGrad: zeros, with dy copied to where the slice took it from.
#include <cstring>

#include "engine/kernels/reference/reference.h"
#include "ops/layout/slice.h"

namespace trainyard::kernels::reference {
namespace {

class SliceGrad final : public Kernel {
 public:
  explicit SliceGrad(const NodeView& node) : strides_(node.output_shape(0).strides()) {
    const ops::SliceRanges ranges = *ops::slice_ranges(node, node.output_shape(0));
    for (size_t i = 0; i < strides_.size(); ++i) {
      offset_ += ranges.starts[i] * strides_[i];
      strides_[i] *= ranges.steps[i];
    }
  }

  void run(const KernelArgs& args) const override {
    const TensorView& dy = args.inputs[0];
    const TensorView& dx = args.outputs[0];
    const int64_t size = dtype_size(dx.dtype);
    std::memset(dx.data, 0, static_cast<size_t>(dx.num_elements() * size));
    if (dy.num_elements() == 0) return;
    copy_strided(dy.shape->dims(), size, dy.data, dy.shape->strides(),
                 static_cast<std::byte*>(dx.data) + offset_ * size, strides_);
  }

 private:
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
};

}  // namespace

extern const KernelDef kSliceGrad = reference_kernel<SliceGrad>("SliceGrad");

}  // namespace trainyard::kernels::reference
