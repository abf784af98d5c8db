// Numbers at fixed places, their sum, and the place where a running sum is passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::rl {

// Sixteen children to a node: few levels, and each is two or four cache lines in a row.
class SumTree {
 public:
  explicit SumTree(int64_t size);

  int64_t size() const { return size_; }
  // At least 0.
  void set(int64_t place, double value);
  double value(int64_t place) const { return levels_[0][static_cast<size_t>(place)]; }
  double total() const { return levels_.back()[0]; }
  // The first place whose running sum is above `mass`, which is in [0, total); never one whose
  // value is 0 unless all are.
  int64_t find(double mass) const;

 private:
  static constexpr size_t kFan = 16;

  int64_t size_;
  // The numbers, then sums of sixteen of the level below, up to a single one.
  std::vector<std::vector<double>> levels_;
};

}  // namespace trainyard::rl
