// A picture to draw on. Coordinates are pixels, x to the right and y down; what lies outside is cut
// off.
#pragma once

#include <array>
#include <cstdint>

#include "data/image.h"

namespace trainyard::rl {

using Color = std::array<uint8_t, 3>;

class Canvas {
 public:
  Canvas(int64_t height, int64_t width, Color paper);

  int64_t height() const { return image_.height; }
  int64_t width() const { return image_.width; }
  const data::Image& image() const { return image_; }

  void set(int64_t x, int64_t y, Color color);
  void fill(double left, double top, double right, double bottom, Color color);
  void disc(double x, double y, double radius, Color color);
  // A thick line with round ends.
  void line(double x0, double y0, double x1, double y1, double thickness, Color color);

 private:
  data::Image image_;
};

inline constexpr Color kPaper{250, 250, 247};
inline constexpr Color kInk{38, 50, 56};
inline constexpr Color kAccent{21, 101, 192};
inline constexpr Color kWarm{230, 81, 0};
inline constexpr Color kSoft{176, 190, 197};

// Side of the square pictures that games draw.
inline constexpr int64_t kPictureSide = 160;

}  // namespace trainyard::rl
