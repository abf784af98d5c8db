// MaxPool with the positions of the maxima, and GlobalMaxPool.
#include <limits>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"

namespace trainyard::kernels::reference {
namespace {

class MaxPool final : public Kernel {
 public:
  explicit MaxPool(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        column_major_(node.attr_int("storage_order", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    for_one_of<float, double, F16, BF16, int8_t, uint8_t>(args.inputs[0].dtype, "MaxPool",
                                                          [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& shape = *args.inputs[0].shape;
    int64_t* indices = output_or_none(args, 1).as<int64_t>();
    for (int64_t nc = 0; nc < shape[0] * shape[1]; ++nc) {
      const T* x = args.inputs[0].as<T>() + nc * walk_.input_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        T largest = std::numeric_limits<T>::lowest();
        int64_t where = -1;
        walk_.for_each(position, [&](int64_t, int64_t at) {
          if (where >= 0 && !(x[at] > largest)) return;
          largest = x[at];
          where = at;
        });
        const int64_t i = nc * walk_.output_size() + position;
        args.outputs[0].as<T>()[i] = largest;
        if (indices != nullptr) indices[i] = nc * walk_.input_size() + in_storage_order(where);
      }
    }
  }

  // Flat index of an element of one channel when the spatial dimensions are stored as asked.
  int64_t in_storage_order(int64_t at) const {
    if (!column_major_) return at;
    int64_t index = 0;
    for (size_t d = walk_.sizes().size(); d-- > 0;) {
      // Going from the last dimension to the first, the first ends up varying fastest.
      int64_t weight = 1;
      for (size_t before = 0; before < d; ++before) weight *= walk_.sizes()[before];
      index += at % walk_.sizes()[d] * weight;
      at /= walk_.sizes()[d];
    }
    return index;
  }

  WindowWalk walk_;
  bool column_major_;
};

}  // namespace

extern const KernelDef kMaxPool = reference_kernel<MaxPool>("MaxPool");
extern const KernelDef kGlobalMaxPool = reference_kernel<MaxPool>("GlobalMaxPool");

}  // namespace trainyard::kernels::reference
