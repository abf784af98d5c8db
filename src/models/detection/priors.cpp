#include "models/detection/priors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"

namespace trainyard::detect {
namespace {

// Sizes of 300 pixels, from map to map.
constexpr double kDesignImage = 300;
constexpr std::array<double, kMaps + 1> kSizes = {60, 105, 150, 195, 240, 285, 330};
// The first three maps are stepped by their stride; later ones, whose sizes are rounded up, by the
// picture divided by their positions.
constexpr size_t kStridedMaps = 3;
constexpr int64_t kFirstStride = 16;
constexpr int64_t kFineStride = 8;
constexpr double kFineSize = 30;

float share(double value) {
  return static_cast<float>(std::clamp(value, 0.0, 1.0));
}

// Positions a side of the stride-16 map, then halves, rounded up; the map of stride 8 at the end.
std::array<int64_t, kMapsWithFine> positions_of(int64_t image) {
  std::array<int64_t, kMapsWithFine> positions{};
  int64_t side = image;
  for (int64_t stride = 1; stride < kFineStride; stride *= 2) side = (side + 1) / 2;
  positions[kMaps] = side;
  for (size_t map = 0; map < kMaps; ++map) {
    side = (side + 1) / 2;
    positions[map] = side;
  }
  return positions;
}

// How far apart positions are, in shares of the picture.
double step_of(size_t map, int64_t image, int64_t side) {
  if (kStridedMaps <= map && map < kMaps) return 1 / static_cast<double>(side);
  const int64_t stride = map == kMaps ? kFineStride : kFirstStride << map;
  return static_cast<double>(stride) / static_cast<double>(image);
}

bool is_whole(std::span<const PriorShape> shapes) {
  return shapes.size() == kMaps * kShapesPerPosition ||
         shapes.size() == kMapsWithFine * kShapesPerPosition;
}

void add_shapes(double least, double most, std::vector<PriorShape>& shapes) {
  const double between = std::sqrt(least * most);
  shapes.push_back({least, least});
  shapes.push_back({between, between});
  for (const double ratio : {2.0, 3.0}) {
    const double root = std::sqrt(ratio);
    shapes.push_back({least * root, least / root});
    shapes.push_back({least / root, least * root});
  }
}

}  // namespace

std::vector<PriorShape> ssd_shapes(size_t maps) {
  TY_CHECK(maps == kMaps || maps == kMapsWithFine, "{} maps", maps);
  std::vector<PriorShape> shapes;
  for (size_t map = 0; map < kMaps; ++map) {
    add_shapes(kSizes[map] / kDesignImage, kSizes[map + 1] / kDesignImage, shapes);
  }
  if (maps == kMapsWithFine) add_shapes(kFineSize / kDesignImage, kSizes[0] / kDesignImage, shapes);
  return shapes;
}

std::vector<PriorShape> parse_shapes(std::string_view text) {
  if (text == kSsdShapes) return {};
  constexpr double kLeastSide = 1e-3;
  constexpr double kMostSide = 2;  // SSD's longest are 1.65 pictures
  std::vector<PriorShape> shapes;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> sides = split(part, 'x');
    TY_REQUIRE(sides.size() == 2,
               "priors: '{}' is no shape; expected WIDTHxHEIGHT, such as 0.1x0.2", part);
    shapes.push_back({data::parse_real(sides[0], kLeastSide, kMostSide, "priors"),
                      data::parse_real(sides[1], kLeastSide, kMostSide, "priors")});
  }
  TY_REQUIRE(is_whole(shapes), "priors: {} shapes, expected {} for each of {} or {} maps",
             shapes.size(), kShapesPerPosition, kMaps, kMapsWithFine);
  return shapes;
}

std::string shapes_text(std::span<const PriorShape> shapes) {
  std::vector<std::string> parts;
  for (const PriorShape& shape : shapes) {
    parts.push_back(fmt::format("{:.4g}x{:.4g}", shape.width, shape.height));
  }
  return join(parts, ",");
}

std::vector<Prior> ssd_priors(int64_t image) {
  return ssd_priors(image, ssd_shapes());
}

std::vector<Prior> ssd_priors(int64_t image, std::span<const PriorShape> shapes) {
  TY_CHECK(image > 0 && is_whole(shapes), "{} shapes for {}", shapes.size(), image);
  const std::array<int64_t, kMapsWithFine> positions = positions_of(image);
  std::vector<Prior> priors;
  for (size_t map = 0; map < shapes.size() / kShapesPerPosition; ++map) {
    const int64_t side = positions[map];
    const double step = step_of(map, image, side);
    for (int64_t row = 0; row < side; ++row) {
      for (int64_t column = 0; column < side; ++column) {
        for (size_t i = 0; i < kShapesPerPosition; ++i) {
          const PriorShape& shape = shapes[map * kShapesPerPosition + i];
          priors.push_back({share((static_cast<double>(column) + 0.5) * step),
                            share((static_cast<double>(row) + 0.5) * step), share(shape.width),
                            share(shape.height)});
        }
      }
    }
  }
  return priors;
}

Offsets encode(const Region& region, const Prior& prior) {
  const auto center = [](double low, double high, float at, float side) {
    return static_cast<float>(((low + high) / 2 - static_cast<double>(at)) /
                              static_cast<double>(side * kCenterVariance));
  };
  const auto size = [](double wanted, float side) {
    return static_cast<float>(std::log(wanted / static_cast<double>(side)) /
                              static_cast<double>(kSizeVariance));
  };
  return {center(region.left, region.right, prior.x, prior.width),
          center(region.top, region.bottom, prior.y, prior.height),
          size(region.width(), prior.width), size(region.height(), prior.height)};
}

Region decode(const Offsets& offsets, const Prior& prior) {
  const double x = static_cast<double>(offsets.x * kCenterVariance * prior.width + prior.x);
  const double y = static_cast<double>(offsets.y * kCenterVariance * prior.height + prior.y);
  const double width = static_cast<double>(std::exp(offsets.width * kSizeVariance) * prior.width);
  const double height =
      static_cast<double>(std::exp(offsets.height * kSizeVariance) * prior.height);
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

Region region_of(const Prior& prior) {
  return decode({}, prior);
}

double overlap(const Region& a, const Region& b, double extra) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left) + extra;
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top) + extra;
  if (!(width > 0) || !(height > 0)) return 0;
  const double shared = width * height;
  const auto area = [&](const Region& r) { return (r.width() + extra) * (r.height() + extra); };
  return shared / (area(a) + area(b) - shared);
}

}  // namespace trainyard::detect
