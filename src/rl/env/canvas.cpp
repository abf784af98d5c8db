#include "rl/env/canvas.h"

#include <algorithm>
#include <cmath>

namespace trainyard::rl {

Canvas::Canvas(int64_t height, int64_t width, Color paper)
    : image_{height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * 3))} {
  fill(0, 0, static_cast<double>(width), static_cast<double>(height), paper);
}

void Canvas::set(int64_t x, int64_t y, Color color) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  std::copy(color.begin(), color.end(), image_.pixels.begin() + (y * width() + x) * 3);
}

void Canvas::fill(double left, double top, double right, double bottom, Color color) {
  for (int64_t y = std::llround(top); y < std::llround(bottom); ++y) {
    for (int64_t x = std::llround(left); x < std::llround(right); ++x) set(x, y, color);
  }
}

void Canvas::disc(double x, double y, double radius, Color color) {
  line(x, y, x, y, 2 * radius, color);
}

void Canvas::line(double x0, double y0, double x1, double y1, double thickness, Color color) {
  const double reach = thickness / 2;
  const double dx = x1 - x0;
  const double dy = y1 - y0;
  const double length = dx * dx + dy * dy;
  const int64_t top = std::llround(std::floor(std::min(y0, y1) - reach));
  const int64_t bottom = std::llround(std::ceil(std::max(y0, y1) + reach));
  const int64_t left = std::llround(std::floor(std::min(x0, x1) - reach));
  const int64_t right = std::llround(std::ceil(std::max(x0, x1) + reach));
  for (int64_t y = top; y <= bottom; ++y) {
    for (int64_t x = left; x <= right; ++x) {
      const double px = static_cast<double>(x) - x0;
      const double py = static_cast<double>(y) - y0;
      const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
      if (std::hypot(px - along * dx, py - along * dy) <= reach) set(x, y, color);
    }
  }
}

}  // namespace trainyard::rl
