// The boxes that a single-shot detector starts from, and how it says where objects are relative to
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::detect {

// Center and size, in shares of the picture's sides.
struct Prior {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
};

// Corners, in shares of the picture's sides or in pixels.
struct Region {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

// A network's numbers are multiples of these: 0.1 of a prior's side, 0.2 of a logarithm.
inline constexpr float kCenterVariance = 0.1F;
inline constexpr float kSizeVariance = 0.2F;

// Of the zoo's SSD for pictures of `image` x `image`: six maps, each half of the one before, with
// six shapes at each position, in the order of the network's outputs (maps, rows, columns, shapes).
// For 300 they are pytorch-ssd's 3,000; sizes grow with the picture.
std::vector<Prior> ssd_priors(int64_t image);

// The same for other shapes: widths and heights in shares of the picture, six for each of the maps.
// A seventh map, behind the others, has twice the positions of the first.
struct PriorShape {
  double width = 0;
  double height = 0;
};
inline constexpr size_t kMaps = 6;
inline constexpr size_t kMapsWithFine = 7;
inline constexpr size_t kShapesPerPosition = 6;
std::vector<Prior> ssd_priors(int64_t image, std::span<const PriorShape> shapes);
// kShapesPerPosition for each of six or seven maps.
std::vector<PriorShape> ssd_shapes(size_t maps = kMaps);

// Shapes as settings and files have them: WIDTHxHEIGHT with commas between, or "ssd", which is
// none: those that SSD has for the network. Reading throws Error for another number of shapes and
// for sides that no prior has.
inline constexpr std::string_view kSsdShapes = "ssd";
std::vector<PriorShape> parse_shapes(std::string_view text);
std::string shapes_text(std::span<const PriorShape> shapes);

// Where the object `region` (in shares) is, seen from a prior; four numbers, and back.
struct Offsets {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
};
Offsets encode(const Region& region, const Prior& prior);
Region decode(const Offsets& offsets, const Prior& prior);
Region region_of(const Prior& prior);

// Shared area over joint area. `extra` is added to every width and height: 1 where corners are
// pixels that belong to the box.
double overlap(const Region& a, const Region& b, double extra = 0);

}  // namespace trainyard::detect
