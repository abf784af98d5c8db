// GridSample.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "kernels/reference/cubic.h"
#include "kernels/reference/reference.h"

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
    const int64_t points = y[2] * y[3];
    for (int64_t nc = 0; nc < y[0] * y[1]; ++nc) {
      const T* image = args.inputs[0].as<T>() + nc * x[2] * x[3];
      const T* grid = args.inputs[1].as<T>() + nc / y[1] * points * 2;
      T* out = args.outputs[0].as<T>() + nc * points;
      for (int64_t i = 0; i < points; ++i) {
        const double column = from_unit(static_cast<double>(grid[2 * i]), x[3]);
        const double row = from_unit(static_cast<double>(grid[2 * i + 1]), x[2]);
        out[i] = static_cast<T>(sample(image, x[2], x[3], row, column));
      }
    }
  }

  // [-1, 1] covers the centres of the corner pixels or their outer edges.
  double from_unit(double unit, int64_t size) const {
    const auto length = static_cast<double>(size);
    return align_corners_ ? (unit + 1) / 2 * (length - 1) : ((unit + 1) * length - 1) / 2;
  }

  // A position outside the image moved inside, if padding asks for that.
  double padded(double at, int64_t size) const {
    const auto last = static_cast<double>(size - 1);
    if (padding_ == "zeros") return at;
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

  template <typename T>
  double sample(const T* image, int64_t height, int64_t width, double row, double column) const {
    const auto pixel = [&](double i, double j) {
      const double r = padded(i, height);
      const double c = padded(j, width);
      const bool inside = r >= 0 && c >= 0 && r <= static_cast<double>(height - 1) &&
                          c <= static_cast<double>(width - 1);
      if (!inside) return 0.0;
      return static_cast<double>(image[static_cast<int64_t>(r) * width + static_cast<int64_t>(c)]);
    };
    if (mode_ != "bicubic") {
      row = padded(row, height);
      column = padded(column, width);
    }
    if (mode_ == "nearest") return pixel(std::nearbyint(row), std::nearbyint(column));
    const double top = std::floor(row);
    const double left = std::floor(column);
    const std::array<double, 4> down = weights(row - top);
    const std::array<double, 4> right = weights(column - left);
    double sum = 0;
    for (size_t i = 0; i < 4; ++i) {
      for (size_t j = 0; j < 4; ++j) {
        const double weight = down[i] * right[j];
        if (weight == 0) continue;
        sum += weight * pixel(top - 1 + static_cast<double>(i), left - 1 + static_cast<double>(j));
      }
    }
    return sum;
  }

  // Of the four neighbours in one direction, t being the distance from the second.
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
