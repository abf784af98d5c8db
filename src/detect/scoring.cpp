#include "detect/scoring.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "detect/groups.h"

namespace trainyard::detect {
namespace {

enum class Verdict : uint8_t { kTrue, kFalse, kIgnored };

// One class: its truths by picture, of which each is found once.
class ClassScorer {
 public:
  ClassScorer(std::span<const Truth> truths, std::span<const Detection> detections,
              const Members& own_truths, const Members& own_detections,
              const ScoringOptions& options)
      : truths_(truths),
        detections_(detections),
        options_(options),
        by_picture_(own_truths, [&](size_t i) { return truths[i].picture; }),
        order_(own_detections),
        found_(truths.size(), false) {
    // Stable: of equal scores the first in the file counts first.
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return detections[a].score > detections[b].score; });
    for (const size_t i : own_truths) result_.truths += truths[i].difficult ? 0 : 1;
  }

  ClassResult run() {
    for (const size_t i : order_) {
      const Verdict verdict = judge(detections_[i]);
      if (verdict == Verdict::kIgnored) continue;
      (verdict == Verdict::kTrue ? result_.true_positives : result_.false_positives) += 1;
      const auto right = static_cast<double>(result_.true_positives);
      const auto said = static_cast<double>(result_.true_positives + result_.false_positives);
      // Classes without truths have no recall, but their curve must not divide by zero.
      const auto truths = static_cast<double>(std::max<int64_t>(1, result_.truths));
      result_.curve.push_back(
          {.recall = right / truths, .precision = right / said, .score = detections_[i].score});
    }
    if (result_.truths > 0) {
      result_.eleven_point = eleven_point_average(result_.curve);
      result_.every_point = every_point_average(result_.curve);
    }
    return std::move(result_);
  }

 private:
  // VOC's rule: the truth with the largest overlap decides, even if it is taken already.
  Verdict judge(const Detection& detection) {
    double best = 0;
    size_t which = truths_.size();
    for (const size_t i : by_picture_.of(detection.picture)) {
      const double found = overlap(detection.region, truths_[i].region, options_.extra);
      if (found > best) {
        best = found;
        which = i;
      }
    }
    const bool hits = options_.strict ? best > options_.overlap : best >= options_.overlap;
    if (which == truths_.size() || !hits) return Verdict::kFalse;
    if (truths_[which].difficult) return Verdict::kIgnored;
    if (found_[which]) return Verdict::kFalse;
    found_[which] = true;
    return Verdict::kTrue;
  }

  std::span<const Truth> truths_;
  std::span<const Detection> detections_;
  const ScoringOptions& options_;
  Groups by_picture_;
  Members order_;
  std::vector<bool> found_;
  ClassResult result_;
};

// Over classes that have truths.
std::optional<double> mean_of(const std::vector<ClassResult>& classes,
                              std::optional<double> ClassResult::*average) {
  double sum = 0;
  int64_t count = 0;
  for (const ClassResult& each : classes) {
    if (!(each.*average)) continue;
    sum += *(each.*average);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace

double eleven_point_average(std::span<const CurvePoint> curve) {
  constexpr int kPoints = 11;
  // 0.3 of a recall is met by 3 of 10, whatever the last bits of either say.
  constexpr double kSlack = 1e-9;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double wanted = static_cast<double>(i) / (kPoints - 1);
    double best = 0;
    for (const CurvePoint& point : curve) {
      if (point.recall >= wanted - kSlack) best = std::max(best, point.precision);
    }
    sum += best;
  }
  return sum / kPoints;
}

double every_point_average(std::span<const CurvePoint> curve) {
  double area = 0;
  double best = 0;
  // From the highest recall down, the best precision so far is the hull.
  for (size_t i = curve.size(); i > 0; --i) {
    best = std::max(best, curve[i - 1].precision);
    const double before = i > 1 ? curve[i - 2].recall : 0;
    area += (curve[i - 1].recall - before) * best;
  }
  return area;
}

VocResult score_voc(std::span<const Truth> truths, std::span<const Detection> detections,
                    int64_t classes, const ScoringOptions& options) {
  Members all_truths(truths.size());
  std::iota(all_truths.begin(), all_truths.end(), size_t{0});
  Members all_detections(detections.size());
  std::iota(all_detections.begin(), all_detections.end(), size_t{0});
  const Groups truths_of(all_truths, [&](size_t i) { return truths[i].label; });
  const Groups detections_of(all_detections, [&](size_t i) { return detections[i].label; });
  VocResult result;
  for (int64_t label = 0; label < classes; ++label) {
    result.classes.push_back(
        ClassScorer(truths, detections, truths_of.of(label), detections_of.of(label), options)
            .run());
  }
  result.eleven_point = mean_of(result.classes, &ClassResult::eleven_point);
  result.every_point = mean_of(result.classes, &ClassResult::every_point);
  return result;
}

}  // namespace trainyard::detect
