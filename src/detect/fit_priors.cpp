#include "detect/fit_priors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/boxes/box_set.h"
#include "detect/matching.h"

namespace trainyard::detect {
namespace {

constexpr int kMostRounds = 100;
// Fewer objects say little about shapes.
constexpr size_t kLeastObjects = 4 * kShapesPerPosition;

// Of two boxes with the same center.
double shape_overlap(const PriorShape& a, const PriorShape& b) {
  const double shared = std::min(a.width, b.width) * std::min(a.height, b.height);
  return shared / (a.width * a.height + b.width * b.height - shared);
}

size_t nearest(const PriorShape& shape, const std::vector<PriorShape>& centers) {
  size_t best = 0;
  for (size_t i = 1; i < centers.size(); ++i) {
    if (shape_overlap(shape, centers[i]) > shape_overlap(shape, centers[best])) best = i;
  }
  return best;
}

// Each center as far from the ones before as a draw weighted by the distance makes it.
std::vector<PriorShape> first_centers(const std::vector<PriorShape>& shapes, size_t count,
                                      const RandomStream& random) {
  std::vector<PriorShape> centers = {shapes[random.below(0, shapes.size())]};
  std::vector<double> apart(shapes.size());
  while (centers.size() < count) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const double distance = 1 - shape_overlap(shapes[i], centers[nearest(shapes[i], centers)]);
      apart[i] = distance * distance;
    }
    const double total = std::accumulate(apart.begin(), apart.end(), 0.0);
    double at = random.uniform(centers.size()) * total;
    size_t chosen = 0;
    while (chosen + 1 < shapes.size() && (at -= apart[chosen]) > 0) ++chosen;
    centers.push_back(shapes[chosen]);
  }
  return centers;
}

std::vector<PriorShape> k_means(const std::vector<PriorShape>& shapes, size_t count,
                                uint64_t seed) {
  std::vector<PriorShape> centers = first_centers(shapes, count, RandomStream(seed));
  std::vector<size_t> of(shapes.size(), count);
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    std::vector<PriorShape> sums(count);
    std::vector<double> sizes(count, 0);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const size_t own = nearest(shapes[i], centers);
      changed |= own != of[i];
      of[i] = own;
      sums[own].width += shapes[i].width;
      sums[own].height += shapes[i].height;
      sizes[own] += 1;
    }
    if (!changed) break;
    for (size_t c = 0; c < count; ++c) {
      if (sizes[c] > 0) centers[c] = {sums[c].width / sizes[c], sums[c].height / sizes[c]};
    }
  }
  return centers;
}

double side_of(const PriorShape& shape) {
  return std::sqrt(shape.width * shape.height);
}

// Sizes of objects that belong to a map.
struct SizeRange {
  double least;
  double most;
};

// From the map's smallest SSD shape to the next map's. The finest takes what is smaller, too; where
// that is the map at the end, it has objects up to half of the way to the next.
SizeRange range_of(size_t map, size_t maps) {
  const std::vector<PriorShape> own = ssd_shapes(maps);
  const auto size = [&](size_t of) { return own[of * kShapesPerPosition].width; };
  const double fine = maps == kMapsWithFine ? std::sqrt(size(kMaps) * size(0)) : 0;
  if (map == kMaps) return {0, fine};
  return {map == 0 ? fine : size(map), map + 1 == kMaps ? 2 : size(map + 1)};
}

// Six shapes for each map, from the objects of its size; a map with few objects keeps SSD's.
std::vector<PriorShape> fit_shapes(const std::vector<PriorShape>& objects, uint64_t seed,
                                   size_t maps) {
  std::vector<PriorShape> shapes = ssd_shapes(maps);
  for (size_t map = 0; map < maps; ++map) {
    const SizeRange range = range_of(map, maps);
    std::vector<PriorShape> own;
    for (const PriorShape& object : objects) {
      if (range.least <= side_of(object) && side_of(object) < range.most) own.push_back(object);
    }
    if (own.size() < kLeastObjects) continue;
    std::vector<PriorShape> centers = k_means(own, kShapesPerPosition, seed + map);
    std::sort(centers.begin(), centers.end(),
              [](const PriorShape& a, const PriorShape& b) { return side_of(a) < side_of(b); });
    std::copy(centers.begin(), centers.end(),
              shapes.begin() + static_cast<ptrdiff_t>(map * kShapesPerPosition));
  }
  return shapes;
}

PriorRecall recall_of(const std::vector<Region>& regions, std::vector<Prior> priors) {
  PriorRecall recall;
  const Matcher matcher(std::move(priors));
  for (const double best : matcher.best_overlaps(regions)) {
    recall.mean_overlap += best / static_cast<double>(regions.size());
    recall.covered += best >= kMatchOverlap ? 1 : 0;
  }
  return recall;
}

// Of a set whose pictures are not all alike, as the file says.
data::PictureSize size_of(const data::Dataset& set, int64_t sample) {
  if (!set.shape().is_fixed()) return data::picture_size_of(set.sample_name(sample));
  return {.height = set.shape().height, .width = set.shape().width};
}

// In shares of the pictures.
std::vector<Region> objects_of(const data::Dataset& set) {
  std::vector<Region> regions;
  data::Target target;
  for (int64_t i = 0; i < set.size(); ++i) {
    const data::PictureSize size = size_of(set, i);
    if (size.width == 0 || size.height == 0) continue;
    set.target(i, target);
    const auto width = static_cast<double>(size.width);
    const auto height = static_cast<double>(size.height);
    for (const data::Box& box : target.boxes) {
      regions.push_back(
          {static_cast<double>(box.left) / width, static_cast<double>(box.top) / height,
           static_cast<double>(box.right) / width, static_cast<double>(box.bottom) / height});
    }
  }
  return regions;
}

}  // namespace

PriorFit fit_priors(const data::Dataset& set, int64_t image, uint64_t seed, size_t maps) {
  const std::vector<Region> regions = objects_of(set);
  TY_REQUIRE(!regions.empty(), "{}: there is no object", set.source());
  std::vector<PriorShape> shapes;
  for (const Region& region : regions) shapes.push_back({region.width(), region.height()});
  PriorFit fit;
  fit.objects = static_cast<int64_t>(regions.size());
  fit.shapes = fit_shapes(shapes, seed, maps);
  fit.own = recall_of(regions, ssd_priors(image, ssd_shapes(maps)));
  fit.fitted = recall_of(regions, ssd_priors(image, fit.shapes));
  return fit;
}

}  // namespace trainyard::detect
