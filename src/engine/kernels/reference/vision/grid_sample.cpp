// GridSample.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "engine/kernels/reference/vision/cubic.h"

namespace trainyard::kernels::reference {
namespace {

constexpr double kCubicA = -0.75;

class GridSample final : public Kernel {
 public:
  explicit GridSample(const NodeView& node)
      : mode_(node.attr_text("mode", "bilinear")),
        padding_(node.attr_text("padding_mode", "zeros")),
        align_corners_(node.attr_int("align_corners", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const Shape& x = *args.inputs[0].shape;
    const Shape& y = *args.outputs[0].shape;
    const int64_t spatial = x.rank() - 2;
    const int64_t pixels = x.num_elements(2, x.rank());
    const int64_t points = y.num_elements(2, y.rank());
    std::vector<double> at(static_cast<size_t>(spatial));
    for (int64_t nc = 0; nc < y[0] * y[1]; ++nc) {
      const T* image = args.inputs[0].as<T>() + nc * pixels;
      const int64_t grid = nc / y[1] * points * spatial;
      T* out = args.outputs[0].as<T>() + nc * points;
      for (int64_t i = 0; i < points; ++i) {
        // The grid names the innermost dimension first.
        for (int64_t d = 0; d < spatial; ++d) {
          const double unit = float_at(args.inputs[1], grid + spatial * i + spatial - 1 - d);
          at[static_cast<size_t>(d)] = from_unit(unit, x[2 + d]);
        }
        out[i] = static_cast<T>(sample(image, x.dims().subspan(2), at));
      }
    }
  }

  // [-1, 1] covers the centers of the corner pixels or their outer edges.
  double from_unit(double unit, int64_t size) const {
    const auto length = static_cast<double>(size);
    return align_corners_ ? (unit + 1) / 2 * (length - 1) : ((unit + 1) * length - 1) / 2;
  }

  // A position outside the image moved inside, if padding asks for that.
  double padded(double at, int64_t size) const {
    const auto last = static_cast<double>(size - 1);
    if (padding_ == "zeros" || size == 0) return at;
    if (padding_ == "reflection") at = reflected(at, size);
    return std::clamp(at, 0.0, last);
  }

  double reflected(double at, int64_t size) const {
    const double low = align_corners_ ? 0.0 : -0.5;
    const double length = static_cast<double>(size) - (align_corners_ ? 1.0 : 0.0);
    if (length == 0) return 0;
    const double distance = std::abs(at - low);
    const double folds = std::floor(distance / length);
    const double rest = distance - folds * length;
    return std::fmod(folds, 2.0) == 0 ? low + rest : low + length - rest;
  }

  // The value at `at`, dimension by dimension; `image` is what the dimensions before have chosen.
  template <typename T>
  double sample(const T* image, std::span<const int64_t> sizes, std::span<const double> at) const {
    if (sizes.empty()) return static_cast<double>(*image);
    int64_t stride = 1;
    for (const int64_t size : sizes.subspan(1)) stride *= size;
    const auto pixel = [&](double i) {
      const double inside = padded(i, sizes[0]);
      // What is not a number lies nowhere.
      if (!(inside >= 0 && inside <= static_cast<double>(sizes[0] - 1))) return 0.0;
      return sample(image + static_cast<int64_t>(inside) * stride, sizes.subspan(1), at.subspan(1));
    };
    const double here = mode_ != "bicubic" ? padded(at[0], sizes[0]) : at[0];
    if (mode_ == "nearest") return pixel(std::nearbyint(here));
    const double first = std::floor(here);
    const std::array<double, 4> shares = weights(here - first);
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) {
      if (shares[i] != 0) sum += shares[i] * pixel(first - 1 + static_cast<double>(i));
    }
    return sum;
  }

  // Of the four neighbors in one direction, t being the distance from the second.
  std::array<double, 4> weights(double t) const {
    if (mode_ == "bilinear") return {0, 1 - t, t, 0};
    return cubic_weights(t, kCubicA);
  }

  std::string mode_;
  std::string padding_;
  bool align_corners_;
};

}  // namespace

extern const KernelDef kGridSample = reference_kernel<GridSample>("GridSample");

}  // namespace trainyard::kernels::reference
