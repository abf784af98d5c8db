// Vectors of f32 find out which boxes may overlap; the few that do are looked at again in f64, as
// the reference does it, so that both keep the same boxes.
#include "engine/kernels/native/vision/suppression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/native/vision/ranking.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

using ops::BoxCorners;
using ops::SuppressionRules;

// Boxes compared at once: two vectors hide the latency of each other.
constexpr size_t kGroup = 16;
constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr float kAlways = -kNever;
// Shared and joint areas in f32 are within 12 half steps (2^-24) of what they are.
constexpr double kRoundedDown = 1 - 1e-6;

// A box as vectors compare it: two may overlap if the area they share is more than the sum of their
// `least`, which is never more than what is needed and kAlways if f32 cannot tell.
struct FastBox {
  float x1, y1, x2, y2;
  float least;
};

// Shares nothing with anybody.
constexpr FastBox kNoBox = {1, 0, -1, 0, kNever};

// Makes them of boxes for one share.
class FastBoxes {
 public:
  explicit FastBoxes(const SuppressionRules& rules)
      : told_(!rules.centers && rules.overlap > kSmallShare && rules.overlap < 1 / kSmallShare),
        // shared > share * (a + b - shared), solved for what is shared.
        factor_(rules.overlap / (1 + rules.overlap) * kRoundedDown) {}

  FastBox make(const BoxCorners& box) const {
    const double width = box.x2 - box.x1;
    const double height = box.y2 - box.y1;
    if (width == 0 || height == 0) return kNoBox;
    const double farthest =
        std::max({std::abs(box.x1), std::abs(box.y1), std::abs(box.x2), std::abs(box.y2)});
    const double area = width * height;
    const bool told = told_ && farthest < kFar && area > kTiny;
    return {static_cast<float>(box.x1), static_cast<float>(box.y1), static_cast<float>(box.x2),
            static_cast<float>(box.y2), told ? static_cast<float>(factor_ * area) : kAlways};
  }

 private:
  // Within these no product leaves the range of f32.
  static constexpr double kSmallShare = 1e-6;
  static constexpr double kFar = 1e15;
  static constexpr double kTiny = 1e-30;

  bool told_;
  double factor_;
};

struct Picture {
  Picture(const float* boxes, int64_t count, const SuppressionRules& rules) {
    const FastBoxes fast_boxes(rules);
    exact.reserve(static_cast<size_t>(count));
    fast.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      exact.push_back(ops::box_corners(boxes + 4 * i, rules.centers));
      fast.push_back(fast_boxes.make(exact.back()));
    }
  }

  std::vector<BoxCorners> exact;
  std::vector<FastBox> fast;
};

// Boxes coordinate by coordinate.
struct alignas(32) BoxGroup {
  BoxGroup() {
    for (size_t lane = 0; lane < kGroup; ++lane) set(lane, kNoBox);
  }

  void set(size_t lane, const FastBox& box) {
    x1[lane] = box.x1;
    y1[lane] = box.y1;
    x2[lane] = box.x2;
    y2[lane] = box.y2;
    least[lane] = box.least;
  }

  float x1[kGroup], y1[kGroup], x2[kGroup], y2[kGroup], least[kGroup];
};

// One box in all lanes.
struct WideBox {
  explicit WideBox(const FastBox& box)
      : x1(_mm256_set1_ps(box.x1)),
        y1(_mm256_set1_ps(box.y1)),
        x2(_mm256_set1_ps(box.x2)),
        y2(_mm256_set1_ps(box.y2)),
        least(_mm256_set1_ps(box.least)) {}

  // Lanes of the group, from `at` on, that may overlap the box.
  __m256 may_overlap(const BoxGroup& group, size_t at) const {
    const __m256 width = _mm256_sub_ps(_mm256_min_ps(x2, _mm256_load_ps(group.x2 + at)),
                                       _mm256_max_ps(x1, _mm256_load_ps(group.x1 + at)));
    const __m256 height = _mm256_sub_ps(_mm256_min_ps(y2, _mm256_load_ps(group.y2 + at)),
                                        _mm256_max_ps(y1, _mm256_load_ps(group.y1 + at)));
    const __m256 shared = _mm256_mul_ps(_mm256_max_ps(width, _mm256_setzero_ps()), height);
    const __m256 needed = _mm256_add_ps(least, _mm256_load_ps(group.least + at));
    // True as well if one of them is not a number.
    return _mm256_cmp_ps(shared, needed, _CMP_NLE_UQ);
  }

  __m256 x1, y1, x2, y2, least;
};

// The boxes of one class that are kept. Reuses its memory from class to class.
class Kept {
 public:
  Kept(const Picture& picture, double share) : picture_(picture), share_(share) {}

  void clear() {
    boxes_.clear();
    groups_.clear();
  }

  const std::vector<uint32_t>& boxes() const { return boxes_; }

  void add_unless_covered(uint32_t box) {
    const WideBox wide(picture_.fast[box]);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const __m256 low = wide.may_overlap(groups_[g], 0);
      const __m256 high = wide.may_overlap(groups_[g], kVector);
      const __m256 any = _mm256_or_ps(low, high);
      if (_mm256_testz_ps(any, any) != 0) continue;
      const auto lanes = static_cast<uint32_t>(_mm256_movemask_ps(low)) |
                         static_cast<uint32_t>(_mm256_movemask_ps(high)) << kVector;
      if (one_overlaps(box, g * kGroup, lanes)) return;
    }
    const size_t lane = boxes_.size() % kGroup;
    if (lane == 0) groups_.emplace_back();
    groups_.back().set(lane, picture_.fast[box]);
    boxes_.push_back(box);
  }

 private:
  // Among the boxes `first` + lanes.
  bool one_overlaps(uint32_t box, size_t first, uint32_t lanes) const {
    for (; lanes != 0; lanes &= lanes - 1) {
      const size_t at = first + static_cast<size_t>(__builtin_ctz(lanes));
      if (at >= boxes_.size()) return false;
      if (boxes_overlap(picture_.exact[box], picture_.exact[boxes_[at]], share_)) return true;
    }
    return false;
  }

  const Picture& picture_;
  double share_;
  std::vector<uint32_t> boxes_;
  std::vector<BoxGroup> groups_;
};

// One class after the other of a picture.
class ClassSelector {
 public:
  ClassSelector(const Picture& picture, const SuppressionRules& rules)
      : rules_(rules), kept_(picture, rules.overlap) {}

  const std::vector<uint32_t>& select(std::span<const float> scores) {
    kept_.clear();
    const auto most = static_cast<size_t>(std::max<int64_t>(rules_.most_per_class, 0));
    if (most == 0) return kept_.boxes();
    const auto ranked = rules_.has_score ? ranking_.rank(scores, static_cast<float>(rules_.score))
                                         : ranking_.rank(scores);
    for (const uint32_t box : ranked) {
      kept_.add_unless_covered(box);
      if (kept_.boxes().size() == most) break;
    }
    return kept_.boxes();
  }

 private:
  const SuppressionRules& rules_;
  Ranking ranking_;
  Kept kept_;
};

}  // namespace

std::vector<std::array<int64_t, 3>> suppress_boxes(const TensorView& boxes,
                                                   const TensorView& scores,
                                                   const SuppressionRules& rules) {
  const Shape& shape = *scores.shape;
  const int64_t classes = shape[1];
  const int64_t count = shape[2];
  std::vector<std::array<int64_t, 3>> kept;
  std::vector<std::vector<uint32_t>> by_class(static_cast<size_t>(classes));
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    const Picture picture(boxes.as<float>() + batch * count * 4, count, rules);
    parallel_for(classes, [&](int64_t begin, int64_t end) {
      ClassSelector selector(picture, rules);
      for (int64_t c = begin; c < end; ++c) {
        const float* of_class = scores.as<float>() + (batch * classes + c) * count;
        by_class[static_cast<size_t>(c)] = selector.select({of_class, static_cast<size_t>(count)});
      }
    });
    for (int64_t c = 0; c < classes; ++c) {
      for (const uint32_t box : by_class[static_cast<size_t>(c)]) kept.push_back({batch, c, box});
    }
  }
  return kept;
}

}  // namespace trainyard::kernels::native
