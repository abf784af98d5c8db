#include "models/detection/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/detection/label_font.h"

namespace trainyard::detect {
namespace {

struct Color {
  uint8_t red;
  uint8_t green;
  uint8_t blue;

  // Black type is readable on it.
  bool is_light() const { return 299 * red + 587 * green + 114 * blue > 140'000; }
};

// Far apart from each other on most photographs.
constexpr std::array<Color, 12> kPalette = {{{230, 25, 75},
                                             {60, 180, 75},
                                             {0, 110, 220},
                                             {255, 180, 0},
                                             {145, 30, 180},
                                             {0, 190, 190},
                                             {240, 50, 230},
                                             {120, 200, 20},
                                             {250, 110, 40},
                                             {0, 128, 128},
                                             {170, 90, 40},
                                             {128, 0, 0}}};
// Lines and letters grow with the picture, one step for each 700 pixels.
constexpr int64_t kPixelsPerScale = 700;
constexpr int64_t kDash = 6;

class Canvas {
 public:
  explicit Canvas(data::Image& image)
      : image_(image),
        scale_(std::max<int64_t>(1, std::max(image.height, image.width) / kPixelsPerScale)) {}

  int64_t scale() const { return scale_; }
  int64_t height() const { return image_.height; }
  int64_t width() const { return image_.width; }

  void fill(int64_t left, int64_t top, int64_t right, int64_t bottom, const Color& color) {
    for (int64_t y = std::max<int64_t>(0, top); y < std::min(bottom, image_.height); ++y) {
      for (int64_t x = std::max<int64_t>(0, left); x < std::min(right, image_.width); ++x) {
        blend(x, y, color, 255);
      }
    }
  }

  // Characters beyond ASCII are shown as '?', byte by byte.
  void text(int64_t left, int64_t top, std::string_view text, const Color& color) {
    for (const char c : text) {
      const bool known = c >= kFirstGlyph && c < kFirstGlyph + static_cast<int>(kLabelGlyphCount);
      glyph(left, top, kLabelGlyphs[(known ? c : '?') - kFirstGlyph], color);
      left += kGlyphWidth * scale_;
    }
  }

 private:
  void glyph(int64_t left, int64_t top, const char* shades, const Color& color) {
    for (int64_t y = 0; y < kGlyphHeight * scale_; ++y) {
      for (int64_t x = 0; x < kGlyphWidth * scale_; ++x) {
        const char digit = shades[y / scale_ * kGlyphWidth + x / scale_];
        const int shade = digit <= '9' ? digit - '0' : digit - 'a' + 10;
        if (shade > 0) blend(left + x, top + y, color, 17 * shade);
      }
    }
  }

  // All drawing ends here, so nothing is written outside of the picture.
  void blend(int64_t x, int64_t y, const Color& color, int opacity) {
    if (x < 0 || y < 0 || x >= image_.width || y >= image_.height) return;
    uint8_t* pixel = image_.pixels.data() + 3 * (y * image_.width + x);
    const uint8_t parts[] = {color.red, color.green, color.blue};
    for (size_t c = 0; c < 3; ++c) {
      pixel[c] = static_cast<uint8_t>((parts[c] * opacity + pixel[c] * (255 - opacity)) / 255);
    }
  }

  data::Image& image_;
  int64_t scale_;
};

const Color& color_of(const Mark& mark) {
  return kPalette[static_cast<size_t>(mark.color) % kPalette.size()];
}

struct PixelBox {
  int64_t left, top, right, bottom;
};

// NaN and numbers below 0 are 0, as comparisons with NaN fail.
PixelBox pixels_of(const Region& region, const Canvas& canvas) {
  const auto at = [](double value, int64_t side) {
    if (!(value > 0)) return int64_t{0};
    return static_cast<int64_t>(std::min(std::floor(value), static_cast<double>(side)));
  };
  return {at(region.left, canvas.width()), at(region.top, canvas.height()),
          at(region.right, canvas.width()), at(region.bottom, canvas.height())};
}

void draw_frame(Canvas& canvas, const Mark& mark) {
  const PixelBox box = pixels_of(mark.region, canvas);
  const int64_t thick = 2 * canvas.scale();
  const Color& color = color_of(mark);
  const int64_t step = mark.dashed ? kDash * canvas.scale() : 1;
  const auto shown = [&](int64_t at) { return !mark.dashed || at / step % 2 == 0; };
  for (int64_t x = box.left; x < box.right; ++x) {
    if (!shown(x - box.left)) continue;
    canvas.fill(x, box.top, x + 1, std::min(box.top + thick, box.bottom), color);
    canvas.fill(x, std::max(box.bottom - thick, box.top), x + 1, box.bottom, color);
  }
  for (int64_t y = box.top; y < box.bottom; ++y) {
    if (!shown(y - box.top)) continue;
    canvas.fill(box.left, y, std::min(box.left + thick, box.right), y + 1, color);
    canvas.fill(std::max(box.right - thick, box.left), y, box.right, y + 1, color);
  }
}

// Above the box, or inside of it where there is no room.
void draw_label(Canvas& canvas, const Mark& mark) {
  if (mark.label.empty()) return;
  const PixelBox box = pixels_of(mark.region, canvas);
  const int64_t pad = 2 * canvas.scale();
  const int64_t high = kGlyphHeight * canvas.scale() + pad;
  const int64_t wide =
      kGlyphWidth * canvas.scale() * static_cast<int64_t>(mark.label.size()) + 2 * pad;
  const int64_t top = box.top >= high ? box.top - high : box.top;
  // Not beyond the right border; a label that is too long begins at the left one.
  const int64_t left = std::clamp<int64_t>(canvas.width() - wide, 0, box.left);
  const Color& color = color_of(mark);
  canvas.fill(left, top, left + wide, top + high, color);
  canvas.text(left + pad, top + pad / 2, mark.label,
              color.is_light() ? Color{0, 0, 0} : Color{255, 255, 255});
}

}  // namespace

void draw_marks(data::Image& image, std::span<const Mark> marks) {
  Canvas canvas(image);
  // Labels last, so that no frame crosses them.
  for (const Mark& mark : marks) draw_frame(canvas, mark);
  for (const Mark& mark : marks) draw_label(canvas, mark);
}

}  // namespace trainyard::detect
