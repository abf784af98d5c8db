// sample_crop: a random piece of the picture as SSD's paper draws it (section 2.2): the whole, or a
// piece in which some box is covered by at least 0.1, 0.3, 0.5, 0.7 or 0.9 (intersection over
// union with the piece), or any. Sides are 0.3 to 1 of the picture's, their ratio 1/2 to 2. Boxes
// whose center is inside are kept and cut off. A picture with boxes keeps at least one.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "data/augment_step.h"

namespace trainyard::data {
namespace {

constexpr double kLeastSide = 0.3;
constexpr double kWidestRatio = 2;
constexpr uint64_t kCropTries = 50;
constexpr uint64_t kDrawsOfTry = 4;
constexpr std::array<double, 5> kLeastOverlaps = {0.1, 0.3, 0.5, 0.7, 0.9};
// The whole picture, each overlap, and any piece.
constexpr uint64_t kModes = kLeastOverlaps.size() + 2;

struct Window {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  bool holds_center(const Box& box) const {
    const double x = (static_cast<double>(box.left) + static_cast<double>(box.right)) / 2;
    const double y = (static_cast<double>(box.top) + static_cast<double>(box.bottom)) / 2;
    return static_cast<double>(left) < x && x < static_cast<double>(left + width) &&
           static_cast<double>(top) < y && y < static_cast<double>(top + height);
  }

  double overlap(const Box& box) const {
    const double wide = std::min<double>(box.right, static_cast<double>(left + width)) -
                        std::max<double>(box.left, static_cast<double>(left));
    const double high = std::min<double>(box.bottom, static_cast<double>(top + height)) -
                        std::max<double>(box.top, static_cast<double>(top));
    if (wide <= 0 || high <= 0) return 0;
    const double own = static_cast<double>(box.width()) * static_cast<double>(box.height());
    return wide * high / (own + static_cast<double>(width * height) - wide * high);
  }
};

// Whether boxes allow this piece.
bool suits(const Window& window, const std::vector<Box>& boxes, double least_overlap) {
  if (boxes.empty()) return true;
  double best = 0;
  bool keeps_one = false;
  for (const Box& box : boxes) {
    best = std::max(best, window.overlap(box));
    keeps_one |= window.holds_center(box);
  }
  return keeps_one && best >= least_overlap;
}

std::optional<Window> draw_window(const PictureShape& in, const std::vector<Box>& boxes,
                                  const RandomStream& random) {
  const uint64_t mode = random.below(0, kModes);
  if (mode == 0) return std::nullopt;
  const double least_overlap = mode < kModes - 1 ? kLeastOverlaps[mode - 1] : 0;
  const auto side = [&](uint64_t index, int64_t full) {
    const double share = kLeastSide + (1 - kLeastSide) * random.uniform(index);
    return std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(full)));
  };
  for (uint64_t at = 1; at < 1 + kCropTries * kDrawsOfTry; at += kDrawsOfTry) {
    Window window{.height = side(at, in.height), .width = side(at + 1, in.width)};
    const double ratio = static_cast<double>(window.height) / static_cast<double>(window.width);
    if (ratio < 1 / kWidestRatio || ratio > kWidestRatio) continue;
    window.top = static_cast<int64_t>(
        random.below(at + 2, static_cast<uint64_t>(in.height - window.height + 1)));
    window.left = static_cast<int64_t>(
        random.below(at + 3, static_cast<uint64_t>(in.width - window.width + 1)));
    if (suits(window, boxes, least_overlap)) return window;
  }
  return std::nullopt;
}

PixelView cut_out(const PixelView& in, const Window& window, Pixels& out) {
  out.reshape({in.shape.channels, window.height, window.width});
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    for (int64_t y = 0; y < window.height; ++y) {
      std::memcpy(out.row(c, y), in.row(c, window.top + y) + window.left,
                  static_cast<size_t>(window.width));
    }
  }
  return out.view();
}

class SampleCrop final : public Step {
 public:
  PictureShape output(const PictureShape& in) const override { return {in.channels, 0, 0}; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    std::vector<Box> none;
    return apply_with_boxes(in, out, none, random);
  }

  PixelView apply_with_boxes(const PixelView& in, Pixels& out, std::vector<Box>& boxes,
                             const RandomStream& random) const override {
    const std::optional<Window> window = draw_window(in.shape, boxes, random);
    if (!window) return in;
    std::erase_if(boxes, [&](const Box& box) { return !window->holds_center(box); });
    const PixelView cut = cut_out(in, *window, out);
    move_boxes(boxes,
               {.left = static_cast<double>(window->left), .top = static_cast<double>(window->top)},
               cut.shape);
    return cut;
  }

  std::string text() const override { return "sample_crop"; }
  std::string evaluation_text() const override { return ""; }
};

std::unique_ptr<const Step> make_sample_crop(const StepArguments& arguments) {
  TY_REQUIRE(arguments.text.empty(), "{} takes no numbers", arguments.what);
  return std::make_unique<SampleCrop>();
}

}  // namespace

extern const StepDef kSampleCrop = {"sample_crop", "sample_crop", make_sample_crop};

}  // namespace trainyard::data
