#include "detect/coco_scoring.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "detect/groups.h"

namespace trainyard::detect {
namespace {

constexpr size_t kOverlaps = 10;
constexpr size_t kRecalls = 101;
constexpr size_t kMostInPicture = 100;

struct AreaRange {
  double least;
  double most;
};
constexpr double kAnyArea = std::numeric_limits<double>::infinity();
constexpr std::array<AreaRange, 4> kAreas = {
    {{0, kAnyArea}, {0, 1024}, {1024, 9216}, {9216, kAnyArea}}};

double overlap_at(size_t index) {
  return 0.5 + 0.05 * static_cast<double>(index);
}

double area_of(const Region& region) {
  return region.width() * region.height();
}

// A crowd is covered by whatever lies inside of it.
double coco_overlap(const Region& found, const Truth& truth) {
  if (!truth.difficult) return overlap(found, truth.region);
  const Region& crowd = truth.region;
  const double width = std::min(found.right, crowd.right) - std::max(found.left, crowd.left);
  const double height = std::min(found.bottom, crowd.bottom) - std::max(found.top, crowd.top);
  const double area = area_of(found);
  return width > 0 && height > 0 && area > 0 ? width * height / area : 0;
}

// One class in one picture: its objects and its best detections with all overlaps between them.
struct PictureOfClass {
  std::vector<const Truth*> truths;
  std::vector<const Detection*> detections;  // by falling score
  std::vector<double> overlaps;              // detections x truths

  double at(size_t detection, size_t truth) const {
    return overlaps[detection * truths.size() + truth];
  }
};

// What became of a detection, at one overlap and range of areas.
struct Outcome {
  double score;
  bool correct;
};

struct Curve {
  std::vector<Outcome> outcomes;
  int64_t truths = 0;
};

// Adds a picture to a curve: objects outside of the range, and crowds, are ignored, and so are
// detections that find such, or find nothing and are outside of the range themselves.
void add_picture(const PictureOfClass& picture, double least, const AreaRange& range,
                 Curve& curve) {
  const size_t count = picture.truths.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto ignored = [&](size_t i) {
    const double area = area_of(picture.truths[i]->region);
    return picture.truths[i]->difficult || area < range.least || area > range.most;
  };
  // Ignored ones come last, so that a detection takes one that counts if it can.
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return !ignored(i); });
  for (const size_t i : order) curve.truths += ignored(i) ? 0 : 1;
  std::vector<bool> taken(count, false);
  for (size_t d = 0; d < picture.detections.size(); ++d) {
    double best = std::min(least, 1 - 1e-10);
    size_t match = count;
    for (const size_t t : order) {
      if (taken[t] && !picture.truths[t]->difficult) continue;
      if (match < count && !ignored(match) && ignored(t)) break;
      if (picture.at(d, t) < best) continue;
      best = picture.at(d, t);
      match = t;
    }
    if (match < count) {
      taken[match] = true;
      if (!ignored(match)) curve.outcomes.push_back({picture.detections[d]->score, true});
      continue;
    }
    const double area = area_of(picture.detections[d]->region);
    if (area < range.least || area > range.most) continue;
    curve.outcomes.push_back({picture.detections[d]->score, false});
  }
}

struct Averages {
  double precision = 0;
  double recall = 0;
};

// The mean of the hull at 101 recalls, and the recall reached. There are truths.
Averages averages_of(Curve& curve) {
  std::stable_sort(curve.outcomes.begin(), curve.outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return a.score > b.score; });
  std::vector<double> recalls;
  std::vector<double> precisions;
  double correct = 0;
  for (const Outcome& outcome : curve.outcomes) {
    correct += outcome.correct ? 1 : 0;
    recalls.push_back(correct / static_cast<double>(curve.truths));
    precisions.push_back(correct / static_cast<double>(recalls.size()));
  }
  for (size_t i = precisions.size(); i > 1; --i) {
    precisions[i - 2] = std::max(precisions[i - 2], precisions[i - 1]);
  }
  Averages averages;
  averages.recall = recalls.empty() ? 0 : recalls.back();
  for (size_t i = 0; i < kRecalls; ++i) {
    const double wanted = static_cast<double>(i) / (kRecalls - 1);
    const auto found = std::lower_bound(recalls.begin(), recalls.end(), wanted);
    if (found != recalls.end()) {
      averages.precision += precisions[static_cast<size_t>(found - recalls.begin())];
    }
  }
  averages.precision /= kRecalls;
  return averages;
}

// The pictures of one class.
std::vector<PictureOfClass> pictures_of(std::span<const Truth> truths,
                                        std::span<const Detection> detections,
                                        const Members& own_truths, const Members& own_detections) {
  std::unordered_map<int64_t, PictureOfClass> pictures;
  std::vector<int64_t> order;
  const auto at = [&](int64_t picture) -> PictureOfClass& {
    const auto [found, is_new] = pictures.try_emplace(picture);
    if (is_new) order.push_back(picture);
    return found->second;
  };
  for (const size_t i : own_truths) at(truths[i].picture).truths.push_back(&truths[i]);
  for (const size_t i : own_detections) {
    at(detections[i].picture).detections.push_back(&detections[i]);
  }
  std::sort(order.begin(), order.end());
  std::vector<PictureOfClass> result;
  for (const int64_t picture : order) {
    PictureOfClass own = std::move(pictures[picture]);
    std::stable_sort(own.detections.begin(), own.detections.end(),
                     [](const Detection* a, const Detection* b) { return a->score > b->score; });
    own.detections.resize(std::min(own.detections.size(), kMostInPicture));
    for (const Detection* detection : own.detections) {
      for (const Truth* truth : own.truths) {
        own.overlaps.push_back(coco_overlap(detection->region, *truth));
      }
    }
    result.push_back(std::move(own));
  }
  return result;
}

// A mean that may be of nothing.
struct Mean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> value() const {
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }
};

}  // namespace

CocoResult score_coco(std::span<const Truth> truths, std::span<const Detection> detections,
                      int64_t classes) {
  Members all_truths(truths.size());
  std::iota(all_truths.begin(), all_truths.end(), size_t{0});
  Members all_detections(detections.size());
  std::iota(all_detections.begin(), all_detections.end(), size_t{0});
  const Groups truths_of(all_truths, [&](size_t i) { return truths[i].label; });
  const Groups detections_of(all_detections, [&](size_t i) { return detections[i].label; });
  std::array<Mean, kAreas.size()> by_area;
  std::array<Mean, kOverlaps> by_overlap;
  Mean recall;
  CocoResult result;
  for (int64_t label = 0; label < classes; ++label) {
    const std::vector<PictureOfClass> pictures =
        pictures_of(truths, detections, truths_of.of(label), detections_of.of(label));
    Mean of_class;
    for (size_t area = 0; area < kAreas.size(); ++area) {
      for (size_t o = 0; o < kOverlaps; ++o) {
        Curve curve;
        for (const PictureOfClass& picture : pictures) {
          add_picture(picture, overlap_at(o), kAreas[area], curve);
        }
        if (curve.truths == 0) continue;
        const Averages averages = averages_of(curve);
        by_area[area].add(averages.precision);
        if (area != 0) continue;
        by_overlap[o].add(averages.precision);
        of_class.add(averages.precision);
        recall.add(averages.recall);
      }
    }
    result.classes.push_back(of_class.value());
  }
  result.average = by_area[0].value();
  result.average_50 = by_overlap[0].value();
  result.average_75 = by_overlap[5].value();
  result.small = by_area[1].value();
  result.medium = by_area[2].value();
  result.large = by_area[3].value();
  result.recall = recall.value();
  return result;
}

}  // namespace trainyard::detect
