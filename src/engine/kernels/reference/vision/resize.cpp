// Resize, dimension by dimension: each output position is a weighted mean of a few input positions.
// ResizeGrad gives dy back to them by the same weights.
#include "ops/vision/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "engine/kernels/reference/vision/cubic.h"

namespace trainyard::kernels::reference {
namespace {

// What one output position of one dimension is made of.
struct Taps {
  std::vector<int64_t> index;
  std::vector<double> weight;
  bool outside = false;  // the whole element takes the extrapolation value
};

class Resize final : public Kernel {
 public:
  explicit Resize(const NodeView& node)
      : mode_(node.attr_text("mode", "nearest")),
        nearest_mode_(node.attr_text("nearest_mode", "round_prefer_floor")),
        coordinates_(node.attr_text("coordinate_transformation_mode", "half_pixel")),
        cubic_a_(node.attr_float("cubic_coeff_a", -0.75F)),
        extrapolation_(node.attr_float("extrapolation_value", 0.0F)),
        exclude_outside_(node.attr_int("exclude_outside", 0) != 0),
        antialias_(node.attr_int("antialias", 0) != 0),
        axes_(ops::resize_axes(node)),
        input_(node.input_shape(0)),
        strides_(input_.strides()) {
    auto sizes = ops::resize_sizes(node);
    TY_CHECK(sizes.has_value(), "Resize was created before its sizes were known");
    sizes_ = std::move(*sizes);
  }

  void run(const KernelArgs& args) const override {
    const std::vector<std::vector<Taps>> taps = all_taps(args);
    for_one_of<float, double, F16, BF16, uint8_t, int8_t, int32_t, int64_t>(
        args.inputs[0].dtype, "Resize", [&]<typename T>(T) {
          const T* x = args.inputs[0].as<T>();
          T* y = args.outputs[0].as<T>();
          for_each_output(taps, [&](const Chosen& chosen, bool outside) {
            *y++ = static_cast<T>(outside ? extrapolation_ : weighted(x, chosen, 0));
          });
        });
  }

  // Adds dy (input 4) to zeros in `dx`, in the order of the elements.
  void run_back(const KernelArgs& args, std::vector<double>& dx) const {
    int64_t next = 0;
    for_each_output(all_taps(args), [&](const Chosen& chosen, bool outside) {
      const double dy = float_at(args.inputs[4], next++);
      if (!outside) give_back(dx.data(), chosen, 0, dy);
    });
  }

 private:
  using Chosen = std::vector<const Taps*>;  // one for each dimension

  std::vector<std::vector<Taps>> all_taps(const KernelArgs& args) const {
    std::vector<std::vector<Taps>> taps(strides_.size());
    for (size_t d = 0; d < taps.size(); ++d) {
      for (int64_t i = 0; i < sizes_.output[static_cast<int64_t>(d)]; ++i) {
        taps[d].push_back(taps_at(d, position(d, static_cast<double>(i), args)));
      }
    }
    return taps;
  }

  // Where output position i of dimension d lies in the input.
  double position(size_t d, double i, const KernelArgs& args) const {
    const auto last = static_cast<double>(input_[static_cast<int64_t>(d)] - 1);
    const double length = sizes_.lengths[d];
    const double half_pixel = (i + 0.5) / sizes_.scales[d] - 0.5;
    if (coordinates_ == "half_pixel") return half_pixel;
    if (coordinates_ == "pytorch_half_pixel") return length > 1 ? half_pixel : 0.0;
    if (coordinates_ == "align_corners") return length == 1 ? 0.0 : i * last / (length - 1);
    if (coordinates_ == "asymmetric") return i / sizes_.scales[d];
    if (coordinates_ == "tf_half_pixel_for_nn") return (i + 0.5) / sizes_.scales[d];
    if (coordinates_ == "half_pixel_symmetric") {
      // Centered, although the output is a part of a pixel shorter than the scaled input.
      const auto out = static_cast<double>(sizes_.output[static_cast<int64_t>(d)]);
      const double size = last + 1;
      return size / 2 * (1 - out / (sizes_.scales[d] * size)) + half_pixel;
    }
    const auto named = std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(d));
    if (named == axes_.end()) return i;
    const int64_t at = named - axes_.begin();
    const double begin = float_at(args.inputs[1], at);
    const double end = float_at(args.inputs[1], static_cast<int64_t>(axes_.size()) + at);
    if (length > 1) return begin * last + i * (end - begin) * last / (length - 1);
    return 0.5 * (begin + end) * last;
  }

  Taps taps_at(size_t d, double x) const {
    const int64_t size = input_[static_cast<int64_t>(d)];
    Taps taps;
    if (coordinates_ == "tf_crop_and_resize") {
      taps.outside = x < 0 || x > static_cast<double>(size - 1);
    }
    const double floor = std::floor(x);
    if (mode_ == "nearest") {
      add(taps, nearest(x), 1.0, size);
    } else if (antialias_ && sizes_.scales[d] < 1) {
      add_stretched(taps, x, sizes_.scales[d], size);
    } else if (mode_ == "linear") {
      add(taps, floor, 1 - (x - floor), size);
      add(taps, floor + 1, x - floor, size);
    } else {
      const std::array<double, 4> weights = cubic_weights(x - floor, cubic_a_);
      for (size_t k = 0; k < weights.size(); ++k) {
        add(taps, floor - 1 + static_cast<double>(k), weights[k], size);
      }
    }
    normalize(taps);
    return taps;
  }

  // Where the output is coarser, each of its positions is a mean of all the input it covers.
  void add_stretched(Taps& taps, double x, double scale, int64_t size) const {
    const double reach = (mode_ == "linear" ? 1.0 : 2.0) / scale;
    double sum = 0;
    for (double at = std::ceil(x - reach); at <= x + reach; ++at) sum += bell((at - x) * scale);
    for (double at = std::ceil(x - reach); at <= x + reach; ++at) {
      add(taps, at, bell((at - x) * scale) / sum, size);
    }
  }

  // The weight at a distance of `t` output positions.
  double bell(double t) const {
    const double distance = std::fabs(t);
    if (mode_ == "linear") return std::fmax(0.0, 1 - distance);
    if (distance >= 2) return 0;
    const double floor = std::floor(distance);
    return cubic_weights(distance - floor, cubic_a_)[floor == 0 ? 1 : 0];
  }

  // Positions outside the input count as its border, unless they are excluded.
  void add(Taps& taps, double at, double weight, int64_t size) const {
    const auto last = static_cast<double>(size - 1);
    const bool excluded = exclude_outside_ && mode_ != "nearest" && (at < 0 || at > last);
    if (weight == 0 || excluded) return;
    taps.index.push_back(static_cast<int64_t>(std::fmin(std::fmax(at, 0.0), last)));
    taps.weight.push_back(weight);
  }

  void normalize(Taps& taps) const {
    if (!exclude_outside_) return;
    double sum = 0;
    for (const double weight : taps.weight) sum += weight;
    for (double& weight : taps.weight) weight /= sum;
  }

  double nearest(double x) const {
    if (nearest_mode_ == "floor") return std::floor(x);
    if (nearest_mode_ == "ceil") return std::ceil(x);
    return nearest_mode_ == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
  }

  // Calls visit(taps, outside) for each output element in order.
  template <typename Visit>
  void for_each_output(const std::vector<std::vector<Taps>>& taps, const Visit& visit) const {
    Chosen chosen(taps.size());
    for (int64_t i = 0; i < sizes_.output.num_elements(); ++i) {
      int64_t rest = i;
      bool outside = false;
      for (size_t d = taps.size(); d-- > 0;) {
        const int64_t size = sizes_.output[static_cast<int64_t>(d)];
        chosen[d] = &taps[d][static_cast<size_t>(rest % size)];
        outside = outside || chosen[d]->outside;
        rest /= size;
      }
      visit(chosen, outside);
    }
  }

  template <typename T>
  double weighted(const T* x, const Chosen& chosen, size_t d) const {
    if (d == chosen.size()) return static_cast<double>(*x);
    double sum = 0;
    for (size_t k = 0; k < chosen[d]->index.size(); ++k) {
      sum += chosen[d]->weight[k] * weighted(x + chosen[d]->index[k] * strides_[d], chosen, d + 1);
    }
    return sum;
  }

  void give_back(double* dx, const Chosen& chosen, size_t d, double dy) const {
    if (d == chosen.size()) {
      *dx += dy;
      return;
    }
    for (size_t k = 0; k < chosen[d]->index.size(); ++k) {
      give_back(dx + chosen[d]->index[k] * strides_[d], chosen, d + 1, dy * chosen[d]->weight[k]);
    }
  }

  std::string mode_;
  std::string nearest_mode_;
  std::string coordinates_;
  double cubic_a_;
  double extrapolation_;
  bool exclude_outside_;
  bool antialias_;
  std::vector<int64_t> axes_;
  Shape input_;
  std::vector<int64_t> strides_;
  ops::ResizeSizes sizes_;
};

class ResizeGrad final : public Kernel {
 public:
  explicit ResizeGrad(const NodeView& node) : forward_(node) {}

  void run(const KernelArgs& args) const override {
    const TensorView& dx = args.outputs[0];
    std::vector<double> sums(static_cast<size_t>(dx.num_elements()), 0.0);
    forward_.run_back(args, sums);
    for (int64_t i = 0; i < dx.num_elements(); ++i) {
      store_float(dx, i, sums[static_cast<size_t>(i)]);
    }
  }

 private:
  Resize forward_;
};

}  // namespace

extern const KernelDef kResize = reference_kernel<Resize>("Resize");
extern const KernelDef kResizeGrad = reference_kernel<ResizeGrad>("ResizeGrad");

}  // namespace trainyard::kernels::reference
