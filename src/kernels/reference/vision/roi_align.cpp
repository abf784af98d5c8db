// RoiAlign: each bin of a region is the mean or maximum of bilinear samples.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference.h"
#include "kernels/reference/vision/regions.h"

namespace trainyard::kernels::reference {
namespace {

// One direction of a region, in input positions.
struct Span {
  double begin;
  double bin;       // length of one bin
  int64_t samples;  // in one bin

  double at(int64_t bin_index, int64_t sample) const {
    return begin + (static_cast<double>(bin_index) +
                    (static_cast<double>(sample) + 0.5) / static_cast<double>(samples)) *
                       bin;
  }
};

// The mean of the four pixels around a place, weighted by their nearness; or the largest of the
// weighted four, which is what the operator's maximum is taken of.
template <typename T>
double bilinear(const T* image, int64_t height, int64_t width, double y, double x, bool largest) {
  if (y < -1 || x < -1 || y > static_cast<double>(height) || x > static_cast<double>(width)) {
    return 0;
  }
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto y0 = static_cast<int64_t>(y);
  const auto x0 = static_cast<int64_t>(x);
  const int64_t y1 = std::min(y0 + 1, height - 1);
  const int64_t x1 = std::min(x0 + 1, width - 1);
  const double down = y - static_cast<double>(y0);
  const double right = x - static_cast<double>(x0);
  const auto at = [&](int64_t i, int64_t j) { return static_cast<double>(image[i * width + j]); };
  const double parts[] = {(1 - down) * (1 - right) * at(y0, x0), (1 - down) * right * at(y0, x1),
                          down * (1 - right) * at(y1, x0), down * right * at(y1, x1)};
  if (largest) return *std::max_element(std::begin(parts), std::end(parts));
  return parts[0] + parts[1] + parts[2] + parts[3];
}

class RoiAlign final : public Kernel {
 public:
  explicit RoiAlign(const NodeView& node)
      : scale_(node.attr_float("spatial_scale", 1.0F)),
        sampling_ratio_(node.attr_int("sampling_ratio", 0)),
        half_pixel_(node.attr_text("coordinate_transformation_mode", "half_pixel") == "half_pixel"),
        maximum_(node.attr_text("mode", "avg") == "max") {}

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
      const int64_t batch = args.inputs[2].as<int64_t>()[r];
      const T* region = args.inputs[1].as<T>() + 4 * r;
      require_region("RoiAlign", r, batch, x[0], region);
      const Span columns =
          span(static_cast<double>(region[0]), static_cast<double>(region[2]), y[3]);
      const Span rows = span(static_cast<double>(region[1]), static_cast<double>(region[3]), y[2]);
      for (int64_t c = 0; c < y[1]; ++c) {
        const T* image = args.inputs[0].as<T>() + (batch * x[1] + c) * x[2] * x[3];
        for (int64_t i = 0; i < y[2] * y[3]; ++i) {
          *out++ = static_cast<T>(bin(image, x[2], x[3], rows, i / y[3], columns, i % y[3]));
        }
      }
    }
  }

  Span span(double begin, double end, int64_t bins) const {
    const double shift = half_pixel_ ? 0.5 : 0.0;
    double length = (end - begin) * scale_;
    if (!half_pixel_) length = std::max(length, 1.0);
    const double bin = length / static_cast<double>(bins);
    const int64_t samples =
        sampling_ratio_ > 0 ? sampling_ratio_ : static_cast<int64_t>(std::ceil(bin));
    return {begin * scale_ - shift, bin, samples};
  }

  template <typename T>
  double bin(const T* image, int64_t height, int64_t width, const Span& rows, int64_t row,
             const Span& columns, int64_t column) const {
    const int64_t count = rows.samples * columns.samples;
    if (count <= 0) return 0;
    double sum = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i) {
      const double value = bilinear(image, height, width, rows.at(row, i / columns.samples),
                                    columns.at(column, i % columns.samples), maximum_);
      sum += value;
      largest = std::max(largest, value);
    }
    return maximum_ ? largest : sum / static_cast<double>(count);
  }

  double scale_;
  int64_t sampling_ratio_;
  bool half_pixel_;
  bool maximum_;
};

}  // namespace

extern const KernelDef kRoiAlign = reference_kernel<RoiAlign>("RoiAlign");

}  // namespace trainyard::kernels::reference
