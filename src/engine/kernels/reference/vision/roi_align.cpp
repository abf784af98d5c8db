// RoiAlign: each bin of a region is the mean or maximum of bilinear samples.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/reference/reference.h"
#include "engine/kernels/reference/vision/regions.h"

namespace trainyard::kernels::reference {
namespace {

// Samples [begin, end) of a bin.
struct Samples {
  int64_t begin;
  int64_t end;

  int64_t count() const { return end - begin; }
};

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

  // Those that may lie in an image of this size: regions are as large as data say, and samples
  // outside need no visit.
  Samples seen(int64_t bin_index, int64_t size) const {
    const double first = at(bin_index, 0);
    const double step = bin / static_cast<double>(samples);
    if (!(step > 0)) return {0, samples};
    const auto most = static_cast<double>(samples);
    const double least = std::clamp(std::floor((-2 - first) / step), 0.0, most);
    const double end =
        std::clamp(std::ceil((static_cast<double>(size) + 1 - first) / step) + 1, least, most);
    return {static_cast<int64_t>(least), static_cast<int64_t>(end)};
  }
};

// What is not a number lies nowhere, nor does anything in an empty image.
bool inside(double at, int64_t size) {
  return at >= -1 && at <= static_cast<double>(size) && size > 0;
}

// The mean of the four pixels around a place, weighted by their nearness; or the largest of the
// weighted four, which is what the operator's maximum is taken of.
template <typename T>
double bilinear(const T* image, int64_t height, int64_t width, double y, double x, bool largest) {
  if (!inside(y, height) || !inside(x, width)) return 0;
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
    // Regions that end before they begin have none.
    const double wanted = std::max(0.0, std::ceil(bin));
    return {begin * scale_ - shift, bin,
            sampling_ratio_ > 0 ? sampling_ratio_ : static_cast<int64_t>(wanted)};
  }

  template <typename T>
  double bin(const T* image, int64_t height, int64_t width, const Span& rows, int64_t row,
             const Span& columns, int64_t column) const {
    if (rows.samples == 0 || columns.samples == 0) return 0;
    const Samples down = rows.seen(row, height);
    const Samples right = columns.seen(column, width);
    double sum = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = down.begin; i < down.end; ++i) {
      for (int64_t j = right.begin; j < right.end; ++j) {
        const double value =
            bilinear(image, height, width, rows.at(row, i), columns.at(column, j), maximum_);
        sum += value;
        largest = std::max(largest, value);
      }
    }
    // Those outside count as zeros.
    const bool all = down.count() == rows.samples && right.count() == columns.samples;
    if (maximum_) return all ? largest : std::max(largest, 0.0);
    return sum / (static_cast<double>(rows.samples) * static_cast<double>(columns.samples));
  }

  double scale_;
  int64_t sampling_ratio_;
  bool half_pixel_;
  bool maximum_;
};

}  // namespace

extern const KernelDef kRoiAlign = reference_kernel<RoiAlign>("RoiAlign");

}  // namespace trainyard::kernels::reference
