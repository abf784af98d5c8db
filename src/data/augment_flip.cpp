// flip[:P]: left and right swapped with probability P, by default one half.
#include <cstring>

#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

void reverse_row(const uint8_t* from, uint8_t* to, int64_t width) {
  int64_t x = 0;
  for (; x + 8 <= width; x += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, from + x, sizeof eight);
    eight = __builtin_bswap64(eight);
    std::memcpy(to + width - x - 8, &eight, sizeof eight);
  }
  for (; x < width; ++x) to[width - x - 1] = from[x];
}

class Flip final : public Step {
 public:
  explicit Flip(double probability) : probability_(probability) {}

  PictureShape output(const PictureShape& in) const override { return in; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    if (!flips(random)) return in;
    out.reshape(in.shape);
    for (int64_t c = 0; c < in.shape.channels; ++c) {
      for (int64_t y = 0; y < in.shape.height; ++y) {
        reverse_row(in.row(c, y), out.row(c, y), in.shape.width);
      }
    }
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& random) const override {
    if (!flips(random)) return;
    const auto width = static_cast<float>(in.width);
    for (Box& box : boxes) {
      const float left = width - box.right;
      box.right = width - box.left;
      box.left = left;
    }
  }

  std::string text() const override {
    return probability_ == 0.5 ? "flip" : fmt::format("flip:{}", probability_);
  }
  std::string evaluation_text() const override { return ""; }

 private:
  bool flips(const RandomStream& random) const { return random.uniform(0) < probability_; }

  double probability_;
};

std::unique_ptr<const Step> make_flip(const StepArguments& arguments) {
  return std::make_unique<Flip>(
      arguments.text.empty() ? 0.5 : parse_real(arguments.text, 0, 1, arguments.what));
}

}  // namespace

extern const StepDef kFlip = {"flip", "flip[:PROBABILITY]", make_flip};

}  // namespace trainyard::data
