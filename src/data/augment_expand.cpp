// expand[:RATIO]: with probability one half, the picture at a random place of a canvas up to RATIO
// (4) times as wide and high, filled with what becomes zero: objects get smaller.
#include <algorithm>
#include <cstring>

#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

constexpr double kDefaultRatio = 4;
constexpr double kMostRatio = 16;
constexpr uint8_t kMiddleGray = 127;

struct Canvas {
  PictureShape shape;
  int64_t top = 0;
  int64_t left = 0;
};

class Expand final : public Step {
 public:
  Expand(double ratio, std::vector<uint8_t> fill) : ratio_(ratio), fill_(std::move(fill)) {}

  // Its size is drawn.
  PictureShape output(const PictureShape& in) const override { return {in.channels, 0, 0}; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    const Canvas canvas = draw(in.shape, random);
    if (canvas.shape == in.shape) return in;
    out.reshape(canvas.shape);
    for (int64_t c = 0; c < in.shape.channels; ++c) {
      std::fill_n(out.row(c, 0), canvas.shape.plane(), fill_of(static_cast<size_t>(c)));
      for (int64_t y = 0; y < in.shape.height; ++y) {
        std::memcpy(out.row(c, canvas.top + y) + canvas.left, in.row(c, y),
                    static_cast<size_t>(in.shape.width));
      }
    }
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& random) const override {
    const Canvas canvas = draw(in, random);
    move_boxes(boxes,
               {.left = -static_cast<double>(canvas.left), .top = -static_cast<double>(canvas.top)},
               canvas.shape);
  }

  std::string text() const override {
    return ratio_ == kDefaultRatio ? "expand" : fmt::format("expand:{}", ratio_);
  }
  std::string evaluation_text() const override { return ""; }

 private:
  uint8_t fill_of(size_t channel) const {
    if (fill_.empty()) return kMiddleGray;
    return fill_[std::min(channel, fill_.size() - 1)];
  }

  Canvas draw(const PictureShape& in, const RandomStream& random) const {
    if (random.uniform(0) < 0.5) return {.shape = in};
    const double ratio = 1 + (ratio_ - 1) * random.uniform(1);
    const auto grown = [&](int64_t side) {
      return std::max(side, static_cast<int64_t>(static_cast<double>(side) * ratio));
    };
    Canvas canvas{.shape = {in.channels, grown(in.height), grown(in.width)}};
    canvas.top = static_cast<int64_t>(
        random.below(2, static_cast<uint64_t>(canvas.shape.height - in.height + 1)));
    canvas.left = static_cast<int64_t>(
        random.below(3, static_cast<uint64_t>(canvas.shape.width - in.width + 1)));
    return canvas;
  }

  double ratio_;
  std::vector<uint8_t> fill_;
};

std::unique_ptr<const Step> make_expand(const StepArguments& arguments) {
  const double ratio = arguments.text.empty()
                           ? kDefaultRatio
                           : parse_real(arguments.text, 1, kMostRatio, arguments.what);
  return std::make_unique<Expand>(ratio, arguments.fill);
}

}  // namespace

extern const StepDef kExpand = {"expand", "expand[:RATIO]", make_expand};

}  // namespace trainyard::data
