// center:HxW: the middle of the picture.
#include <cstring>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

class Center final : public Step {
 public:
  explicit Center(Size size) : size_(size) {}

  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(!in.is_fixed() || (in.height >= size_.height && in.width >= size_.width),
               "augmentation '{}': pictures of {} are too small; resize them first", text(),
               in.to_string());
    return {in.channels, size_.height, size_.width};
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& /*random*/) const override {
    out.reshape(output(in.shape));
    const auto [top, left] = place(in.shape);
    for (int64_t c = 0; c < in.shape.channels; ++c) {
      for (int64_t y = 0; y < size_.height; ++y) {
        std::memcpy(out.row(c, y), in.row(c, top + y) + left, static_cast<size_t>(size_.width));
      }
    }
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& /*random*/) const override {
    const Corner at = place(in);
    move_boxes(boxes, {.left = static_cast<double>(at.left), .top = static_cast<double>(at.top)},
               output(in));
  }

  std::string text() const override {
    return fmt::format("center:{}x{}", size_.height, size_.width);
  }

 private:
  struct Corner {
    int64_t top;
    int64_t left;
  };
  Corner place(const PictureShape& in) const {
    return {(in.height - size_.height) / 2, (in.width - size_.width) / 2};
  }

  Size size_;
};

std::unique_ptr<const Step> make_center(const StepArguments& arguments) {
  return std::make_unique<Center>(parse_size(arguments.text, arguments.what));
}

}  // namespace

extern const StepDef kCenter = {"center", "center:HxW", make_center};

}  // namespace trainyard::data
