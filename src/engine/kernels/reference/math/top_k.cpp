// TopK: sorts each line of the axis as far as needed.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/kernels/reference/layout/axis_lines.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// A total order also where there are NaNs, which count as larger than every number.
template <typename T>
bool less(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(static_cast<float>(a))) return false;
    if (std::isnan(static_cast<float>(b))) return true;
  }
  return a < b;
}

class TopK final : public Kernel {
 public:
  explicit TopK(const NodeView& node)
      : lines_(node.input_shape(0), axis_of(node)),
        kept_(node.output_shape(0), axis_of(node)),
        largest_(node.attr_int("largest", 1) != 0) {}

  void run(const KernelArgs& args) const override {
    for_one_of<float, double, F16, BF16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
               uint32_t, uint64_t>(args.inputs[0].dtype, "TopK",
                                   [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    std::vector<int64_t> order(static_cast<size_t>(lines_.length));
    for (int64_t line = 0; line < lines_.count; ++line) {
      const T* x = args.inputs[0].as<T>() + lines_.begin(line);
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + kept_.length, order.end(),
                        [&](int64_t i, int64_t j) {
                          const T a = x[i * lines_.step];
                          const T b = x[j * lines_.step];
                          if (less(a, b)) return !largest_;
                          if (less(b, a)) return largest_;
                          return i < j;
                        });
      for (int64_t i = 0; i < kept_.length; ++i) {
        const int64_t at = kept_.begin(line) + i * kept_.step;
        const int64_t found = order[static_cast<size_t>(i)];
        args.outputs[0].as<T>()[at] = x[found * lines_.step];
        args.outputs[1].as<int64_t>()[at] = found;
      }
    }
  }

  AxisLines lines_;
  AxisLines kept_;
  bool largest_;
};

}  // namespace

extern const KernelDef kTopK = reference_kernel<TopK>("TopK");

}  // namespace trainyard::kernels::reference
