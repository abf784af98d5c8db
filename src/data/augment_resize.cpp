// resize:HxW stretches to that size; resize:S makes the shorter side S and keeps the ratio. With
// :plain pixels are made of their four neighbors alone, as OpenCV and TensorFlow do it.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"
#include "data/resample.h"

namespace trainyard::data {
namespace {

class Resize final : public Step {
 public:
  Resize(Size size, bool shorter, bool plain) : size_(size), shorter_(shorter), plain_(plain) {}

  PictureShape output(const PictureShape& in) const override {
    if (!shorter_) return {in.channels, size_.height, size_.width};
    if (!in.is_fixed()) return in;
    const int64_t shorter = std::min(in.height, in.width);
    const auto scaled = [&](int64_t side) {
      return std::max<int64_t>(size_.height, (side * size_.height + shorter / 2) / shorter);
    };
    return {in.channels, scaled(in.height), scaled(in.width)};
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& /*random*/) const override {
    const PictureShape to = output(in.shape);
    if (to == in.shape) return in;
    out.reshape(to);
    resample({.data = in.data,
              .height = in.shape.height,
              .width = in.shape.width,
              .stride = in.shape.width,
              .planes = to.channels,
              .plane_stride = in.shape.plane()},
             to.height, to.width, out.bytes.data(), plain_);
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& /*random*/) const override {
    const PictureShape to = output(in);
    move_boxes(boxes,
               {.scale_x = static_cast<double>(to.width) / static_cast<double>(in.width),
                .scale_y = static_cast<double>(to.height) / static_cast<double>(in.height)},
               to);
  }

  std::string text() const override {
    return (shorter_ ? fmt::format("resize:{}", size_.height)
                     : fmt::format("resize:{}x{}", size_.height, size_.width)) +
           (plain_ ? kPlain : "");
  }

 private:
  static constexpr const char* kPlain = ":plain";

  Size size_;
  bool shorter_;
  bool plain_;
};

std::unique_ptr<const Step> make_resize(const StepArguments& arguments) {
  constexpr std::string_view kPlainEnd = ":plain";
  std::string_view size = arguments.text;
  const bool plain = size.ends_with(kPlainEnd);
  if (plain) size.remove_suffix(kPlainEnd.size());
  const bool shorter = size.find('x') == std::string_view::npos;
  return std::make_unique<Resize>(parse_size(size, arguments.what), shorter, plain);
}

}  // namespace

extern const StepDef kResize = {"resize", "resize:HxW[:plain] or resize:SHORTER[:plain]",
                                make_resize};

}  // namespace trainyard::data
