// pad:HxW: the picture in the middle of a black one of that size.
#include <cstring>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

class Pad final : public Step {
 public:
  explicit Pad(Size size) : size_(size) {}

  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(in.is_fixed() && in.height <= size_.height && in.width <= size_.width,
               "augmentation '{}': pictures of {} do not fit; resize them first", text(),
               in.to_string());
    return {in.channels, size_.height, size_.width};
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& /*random*/) const override {
    out.reshape({in.shape.channels, size_.height, size_.width});
    std::memset(out.bytes.data(), 0, out.bytes.size());
    const auto [top, left] = place(in.shape);
    for (int64_t c = 0; c < in.shape.channels; ++c) {
      for (int64_t y = 0; y < in.shape.height; ++y) {
        std::memcpy(out.row(c, top + y) + left, in.row(c, y), static_cast<size_t>(in.shape.width));
      }
    }
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& /*random*/) const override {
    const Corner at = place(in);
    move_boxes(boxes, {.left = -static_cast<double>(at.left), .top = -static_cast<double>(at.top)},
               output(in));
  }

  std::string text() const override { return fmt::format("pad:{}x{}", size_.height, size_.width); }

 private:
  // Of the picture's corner.
  struct Corner {
    int64_t top;
    int64_t left;
  };
  Corner place(const PictureShape& in) const {
    return {(size_.height - in.height) / 2, (size_.width - in.width) / 2};
  }

  Size size_;
};

std::unique_ptr<const Step> make_pad(const StepArguments& arguments) {
  return std::make_unique<Pad>(parse_size(arguments.text, arguments.what));
}

}  // namespace

extern const StepDef kPad = {"pad", "pad:HxW", make_pad};

}  // namespace trainyard::data
