#include "rl/replay/sum_tree.h"

#include "base/error.h"

namespace trainyard::rl {

SumTree::SumTree(int64_t size) : size_(size) {
  TY_CHECK(size > 0, "a tree of {} numbers", size);
  size_t count = (static_cast<size_t>(size) + kFan - 1) / kFan * kFan;
  levels_.emplace_back(count, 0.0);
  while (count > 1) {
    count = (count + kFan - 1) / kFan;
    levels_.emplace_back(count == 1 ? 1 : (count + kFan - 1) / kFan * kFan, 0.0);
  }
}

// Sums are made anew from their parts, so that rounding does not add up over millions of changes.
void SumTree::set(int64_t place, double value) {
  auto index = static_cast<size_t>(place);
  levels_[0][index] = value;
  for (size_t level = 1; level < levels_.size(); ++level) {
    index /= kFan;
    const double* part = levels_[level - 1].data() + index * kFan;
    double sum = 0;
    for (size_t k = 0; k < kFan; ++k) sum += part[k];
    levels_[level][index] = sum;
  }
}

int64_t SumTree::find(double mass) const {
  size_t index = 0;
  for (size_t level = levels_.size() - 1; level-- > 0;) {
    const double* part = levels_[level].data() + index * kFan;
    size_t last = 0;  // the last part that is not 0: where rounding ends that went too far
    size_t k = 0;
    for (; k < kFan; ++k) {
      if (part[k] > 0) last = k;
      if (mass < part[k]) break;
      mass -= part[k];
    }
    if (k == kFan) {
      k = last;
      mass = part[k];
    }
    index = index * kFan + k;
  }
  return static_cast<int64_t>(index);
}

}  // namespace trainyard::rl
