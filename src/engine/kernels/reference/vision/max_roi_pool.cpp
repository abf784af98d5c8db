// MaxRoiPool: regions rounded to whole positions and cut into bins, the maximum of each bin.
#include <algorithm>
#include <cmath>

#include "engine/kernels/reference/reference.h"
#include "engine/kernels/reference/vision/regions.h"

namespace trainyard::kernels::reference {
namespace {

// Input positions [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
};

// Bin `i` of `bins` between two corners, both included, cut to the input.
Range bin_range(int64_t first, int64_t last, int64_t bins, int64_t i, int64_t size) {
  const int64_t length = std::max<int64_t>(last - first + 1, 1);
  const double bin = static_cast<double>(length) / static_cast<double>(bins);
  const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(i) * bin));
  const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * bin));
  return {std::clamp<int64_t>(first + begin, 0, size), std::clamp<int64_t>(first + end, 0, size)};
}

class MaxRoiPool final : public Kernel {
 public:
  explicit MaxRoiPool(const NodeView& node) : scale_(node.attr_float("spatial_scale", 1.0F)) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& x = *args.inputs[0].shape;
    const Shape& y = *args.outputs[0].shape;
    T* out = args.outputs[0].as<T>();
    for (int64_t r = 0; r < y[0]; ++r) {
      // image, left, top, right, bottom
      const T* region = args.inputs[1].as<T>() + 5 * r;
      const int64_t batch = std::llround(static_cast<double>(region[0]));
      require_region("MaxRoiPool", r, batch, x[0], region + 1);
      for (int64_t c = 0; c < y[1]; ++c) {
        const T* image = args.inputs[0].as<T>() + (batch * x[1] + c) * x[2] * x[3];
        for (int64_t i = 0; i < y[2] * y[3]; ++i) {
          const Range rows = bin_range(corner(region[2]), corner(region[4]), y[2], i / y[3], x[2]);
          const Range columns =
              bin_range(corner(region[1]), corner(region[3]), y[3], i % y[3], x[3]);
          *out++ = largest(image, x[3], rows, columns);
        }
      }
    }
  }

  template <typename T>
  int64_t corner(T value) const {
    return std::llround(static_cast<double>(value) * scale_);
  }

  // 0 for a bin without elements.
  template <typename T>
  static T largest(const T* image, int64_t width, const Range& rows, const Range& columns) {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return static_cast<T>(0.0);
    T found = image[rows.begin * width + columns.begin];
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        if (image[i * width + j] > found) found = image[i * width + j];
      }
    }
    return found;
  }

  double scale_;
};

}  // namespace

extern const KernelDef kMaxRoiPool = reference_kernel<MaxRoiPool>("MaxRoiPool");

}  // namespace trainyard::kernels::reference
