// crop:P: black borders of P pixels all around, then a random piece of the old size.
#include <algorithm>
#include <cstring>

#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

class Crop final : public Step {
 public:
  explicit Crop(int64_t padding) : padding_(padding) {}

  PictureShape output(const PictureShape& in) const override { return in; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    const auto [down, right] = draw(random);
    if (down == 0 && right == 0) return in;
    const auto& [channels, height, width] = in.shape;
    out.reshape(in.shape);
    // Columns [left, left + copied) of the result lie inside the picture.
    const int64_t left = std::clamp<int64_t>(-right, 0, width);
    const int64_t copied = std::max<int64_t>(0, width - std::abs(right));
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        uint8_t* to = out.row(c, y);
        std::memset(to, 0, static_cast<size_t>(width));
        if (y + down < 0 || y + down >= height || copied == 0) continue;
        std::memcpy(to + left, in.row(c, y + down) + std::max<int64_t>(0, right),
                    static_cast<size_t>(copied));
      }
    }
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& random) const override {
    const auto [down, right] = draw(random);
    move_boxes(boxes, {.left = static_cast<double>(right), .top = static_cast<double>(down)}, in);
  }

  std::string text() const override { return fmt::format("crop:{}", padding_); }
  std::string evaluation_text() const override { return ""; }

 private:
  struct Shift {
    int64_t down;
    int64_t right;
  };
  Shift draw(const RandomStream& random) const {
    const auto places = static_cast<uint64_t>(2 * padding_ + 1);
    return {static_cast<int64_t>(random.below(0, places)) - padding_,
            static_cast<int64_t>(random.below(1, places)) - padding_};
  }

  int64_t padding_;
};

std::unique_ptr<const Step> make_crop(const StepArguments& arguments) {
  return std::make_unique<Crop>(parse_whole(arguments.text, 0, kLargestSide, arguments.what));
}

}  // namespace

extern const StepDef kCrop = {"crop", "crop:PADDING", make_crop};

}  // namespace trainyard::data
