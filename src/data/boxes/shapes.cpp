// shapes[:SIDE][,size=N][,seed=N][,classes=N][,outlined=1]: discs, squares and triangles of random
// size and color on a noisy ground, with their boxes. For trying detectors without any files.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

constexpr int64_t kMostShapes = 4;
constexpr double kLeastShare = 0.15;  // of the picture's side
constexpr double kMostShare = 0.45;
constexpr int kGroundNoise = 24;
constexpr double kHole = 0.7;
constexpr int64_t kShapesTestShare = 5;  // the test split has a fifth

enum class ShapeKind : uint8_t { kDisc, kSquare, kTriangle };

struct DrawnShape {
  ShapeKind kind;
  int64_t left, top, side;
  std::array<uint8_t, 3> color;
  bool outlined;

  // Whether the middle of a pixel is painted. The hole of an outlined shape is a smaller one.
  bool covers(int64_t x, int64_t y) const {
    const double u = (static_cast<double>(x - left) + 0.5) / static_cast<double>(side);
    const double v = (static_cast<double>(y - top) + 0.5) / static_cast<double>(side);
    if (!holds(u, v)) return false;
    // Where all three shapes have an inside: a triangle's is lower.
    const double middle = kind == ShapeKind::kTriangle ? 2.0 / 3 : 0.5;
    return !outlined || !holds((u - 0.5) / kHole + 0.5, (v - middle) / kHole + middle);
  }

  // In shares of the side.
  bool holds(double u, double v) const {
    if (u < 0 || u > 1 || v < 0 || v > 1) return false;
    switch (kind) {
      case ShapeKind::kDisc:
        return (u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5) <= 0.25;
      case ShapeKind::kSquare:
        return true;
      case ShapeKind::kTriangle:
        return std::abs(u - 0.5) <= v / 2;
    }
    return false;
  }

  bool touches(const DrawnShape& other) const {
    return left < other.left + other.side && other.left < left + side &&
           top < other.top + other.side && other.top < top + side;
  }
};

// Outlined ones are classes of their own: related objects that a detector of filled ones has not
// learned.
std::vector<std::string> first_names(int64_t count, bool outlined) {
  std::vector<std::string> names = {"disc", "square", "triangle"};
  if (outlined) names = {"ring", "frame", "hollow triangle"};
  names.resize(static_cast<size_t>(count));
  return names;
}

class Shapes final : public Dataset {
 public:
  Shapes(const ShapesOptions& options, Split split)
      : Dataset({.shape = {3, options.side, options.side},
                 .class_names = first_names(options.classes, options.outlined),
                 .source = fmt::format("drawn shapes, {} split", split_name(split))}),
        options_(options),
        test_(split == Split::kTest) {}

  int64_t size() const override {
    return test_ ? std::max<int64_t>(1, options_.size / kShapesTestShare) : options_.size;
  }
  TargetKind target_kind() const override { return TargetKind::kBoxes; }

  void target(int64_t index, Target& target) const override {
    target.boxes.clear();
    for (const DrawnShape& shape : draw(index)) {
      target.boxes.push_back({.left = static_cast<float>(shape.left),
                              .top = static_cast<float>(shape.top),
                              .right = static_cast<float>(shape.left + shape.side),
                              .bottom = static_cast<float>(shape.top + shape.side),
                              .label = static_cast<int64_t>(shape.kind)});
    }
  }

  PixelView pixels(int64_t index, Pixels& room) const override {
    room.reshape(shape());
    const RandomStream random = stream(index);
    constexpr uint64_t kGroundDraws = 1000;  // counters before it are the shapes'
    for (int64_t c = 0; c < 3; ++c) {
      const auto ground =
          static_cast<int>(60 + random.below(kGroundDraws + static_cast<uint64_t>(c), 120));
      uint8_t* out = room.row(c, 0);
      for (int64_t i = 0; i < shape().plane(); ++i) {
        const uint64_t at = 2 * kGroundDraws + static_cast<uint64_t>(c * shape().plane() + i);
        out[i] = static_cast<uint8_t>(ground + static_cast<int>(random.below(at, kGroundNoise)));
      }
    }
    for (const DrawnShape& drawn : draw(index)) paint(drawn, room);
    return room.view();
  }

 private:
  RandomStream stream(int64_t index) const {
    return RandomStream(options_.seed * 2 + (test_ ? 1 : 0), static_cast<uint64_t>(index));
  }

  // Shapes that would touch one before them are left out; the first is always there.
  std::vector<DrawnShape> draw(int64_t index) const {
    const RandomStream random = stream(index);
    constexpr uint64_t kDraws = 8;
    const auto wanted = 1 + static_cast<int64_t>(random.below(0, kMostShapes));
    std::vector<DrawnShape> shapes;
    for (uint64_t i = 0; i < static_cast<uint64_t>(wanted); ++i) {
      const uint64_t at = 1 + i * kDraws;
      const double share = kLeastShare + (kMostShare - kLeastShare) * random.uniform(at);
      DrawnShape shape{};
      shape.side = std::max<int64_t>(2, std::lround(share * static_cast<double>(options_.side)));
      const auto room = static_cast<uint64_t>(options_.side - shape.side + 1);
      shape.left = static_cast<int64_t>(random.below(at + 1, room));
      shape.top = static_cast<int64_t>(random.below(at + 2, room));
      shape.kind =
          static_cast<ShapeKind>(random.below(at + 3, static_cast<uint64_t>(options_.classes)));
      shape.outlined = options_.outlined;
      for (uint64_t c = 0; c < 3; ++c) {
        // Dark or bright: away from the ground.
        const uint64_t value = random.below(at + 4 + c, 100);
        shape.color[c] = static_cast<uint8_t>(value < 50 ? value : 155 + value);
      }
      const bool free = std::none_of(shapes.begin(), shapes.end(),
                                     [&](const DrawnShape& other) { return shape.touches(other); });
      if (free) shapes.push_back(shape);
    }
    return shapes;
  }

  static void paint(const DrawnShape& drawn, Pixels& room) {
    for (int64_t y = drawn.top; y < drawn.top + drawn.side; ++y) {
      for (int64_t x = drawn.left; x < drawn.left + drawn.side; ++x) {
        if (!drawn.covers(x, y)) continue;
        for (int64_t c = 0; c < 3; ++c) room.row(c, y)[x] = drawn.color[static_cast<size_t>(c)];
      }
    }
  }

  ShapesOptions options_;
  bool test_;
};

}  // namespace

std::unique_ptr<Dataset> make_shapes(const ShapesOptions& options, Split split) {
  return std::make_unique<Shapes>(options, split);
}

}  // namespace trainyard::data
