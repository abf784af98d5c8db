// photometric: the colors of SSD's training, each change with probability one half: brightness by
// up to 32 of 255, contrast and saturation by a factor of 0.5 to 1.5, hue by up to 18 degrees, and
// another order of the channels. Contrast comes before or after saturation and hue.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "data/augment_step.h"

namespace trainyard::data {
namespace {

constexpr double kMostBrightness = 32;
constexpr double kLeastFactor = 0.5;
constexpr double kMostFactor = 1.5;
constexpr double kMostHue = 18;  // degrees
constexpr std::array<std::array<int64_t, 3>, 6> kOrders = {
    {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};

// What one draw does to a picture.
struct Changes {
  float brightness = 0;
  float contrast_before = 1;
  float contrast_after = 1;
  float saturation = 1;
  float hue = 0;
  size_t order = 0;

  bool changes_colors() const { return saturation != 1 || hue != 0; }
};

Changes draw_changes(const RandomStream& random) {
  // A counter for each choice and one for its amount.
  const auto chosen = [&](uint64_t choice) { return random.uniform(2 * choice) < 0.5; };
  const auto between = [&](uint64_t choice, double least, double most) {
    return static_cast<float>(least + (most - least) * random.uniform(2 * choice + 1));
  };
  Changes changes;
  if (chosen(0)) changes.brightness = between(0, -kMostBrightness, kMostBrightness);
  if (chosen(1)) {
    const float factor = between(1, kLeastFactor, kMostFactor);
    (chosen(5) ? changes.contrast_before : changes.contrast_after) = factor;
  }
  if (chosen(2)) changes.saturation = between(2, kLeastFactor, kMostFactor);
  if (chosen(3)) changes.hue = between(3, -kMostHue, kMostHue);
  if (chosen(4)) changes.order = random.below(9, kOrders.size());
  return changes;
}

// Through hue (in sixths of the circle), saturation and value, and back.
void change_color(float& r, float& g, float& b, float saturation, float hue_sixths) {
  const float value = std::max({r, g, b});
  const float least = std::min({r, g, b});
  const float chroma = value - least;
  if (value <= 0 || chroma <= 0) return;
  float hue = value == r   ? (g - b) / chroma
              : value == g ? 2 + (b - r) / chroma
                           : 4 + (r - g) / chroma;
  hue += hue_sixths;
  if (hue < 0) hue += 6;
  if (hue >= 6) hue -= 6;
  const float wanted = chroma * saturation;
  const auto channel = [&](float shift) {
    float k = hue + shift;
    if (k >= 6) k -= 6;
    return value - wanted * std::clamp(std::min(k, 4 - k), 0.0F, 1.0F);
  };
  r = channel(5);
  g = channel(3);
  b = channel(1);
}

uint8_t byte_of(float value) {
  return static_cast<uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

void apply_changes(const PixelView& in, Pixels& out, const Changes& changes) {
  const auto& order = kOrders[changes.order];
  const float hue = changes.hue / 60;
  const bool colors = changes.changes_colors();
  const int64_t plane = in.shape.plane();
  const uint8_t* red = in.row(0, 0);
  const uint8_t* green = in.row(1, 0);
  const uint8_t* blue = in.row(2, 0);
  uint8_t* to[3] = {out.row(0, 0), out.row(1, 0), out.row(2, 0)};
  for (int64_t i = 0; i < plane; ++i) {
    float color[3] = {(static_cast<float>(red[i]) + changes.brightness) * changes.contrast_before,
                      (static_cast<float>(green[i]) + changes.brightness) * changes.contrast_before,
                      (static_cast<float>(blue[i]) + changes.brightness) * changes.contrast_before};
    if (colors) change_color(color[0], color[1], color[2], changes.saturation, hue);
    for (size_t c = 0; c < 3; ++c) {
      to[c][i] = byte_of(color[order[c]] * changes.contrast_after);
    }
  }
}

class Photometric final : public Step {
 public:
  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(in.channels == 3, "augmentation 'photometric': pictures of {} have no colors",
               in.to_string());
    return in;
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    out.reshape(in.shape);
    apply_changes(in, out, draw_changes(random));
    return out.view();
  }

  std::string text() const override { return "photometric"; }
  std::string evaluation_text() const override { return ""; }
};

std::unique_ptr<const Step> make_photometric(const StepArguments& arguments) {
  TY_REQUIRE(arguments.text.empty(), "{} takes no numbers", arguments.what);
  return std::make_unique<Photometric>();
}

}  // namespace

extern const StepDef kPhotometric = {"photometric", "photometric", make_photometric};

}  // namespace trainyard::data
