// The values that flow through a place of a network, counted in fixed memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/results.h"

namespace trainyard::quant {

// Bins are as wide as a power of two and begin at zero; when a value does not fit, two neighbors
// become one. So the counts depend on the values alone: not on their order, nor on how many came
// at once.
class Histogram {
 public:
  static constexpr int64_t kSideBins = 4096;  // on each side of zero

  // Shared among the calling thread's team (kernels::set_threads), with the same result.
  void add(std::span<const float> values);
  void merge(const Histogram& other);

  int64_t count() const { return count_; }
  // Values that were NaN or infinite, which are counted nowhere else.
  int64_t bad() const { return bad_; }
  double min() const { return min_; }
  double max() const { return max_; }
  // From the middles of the bins.
  double mean() const;
  double sigma() const;

  // Bins from the one that holds min() to the one that holds max().
  struct Bin {
    double low;
    double high;
    int64_t count;
    double middle() const { return (low + high) / 2; }
  };
  std::vector<Bin> bins() const;
  // The value that this share of all lies below, within a bin; 0 and 1 are min() and max().
  double quantile(double share) const;
  // How many lie outside of [low, high], by the middles of their bins.
  int64_t outside(double low, double high) const;
  // A coarse picture of it.
  Bars bars(int64_t count) const;

 private:
  double width() const;
  void make_room(int exponent);
  // Finite ones, for which there is room, in so many parts.
  void count_values(std::span<const float> values, int64_t parts);

  static constexpr int kNone = -1000;
  std::vector<int64_t> counts_ = std::vector<int64_t>(2 * kSideBins, 0);
  int exponent_ = kNone;  // all |values| < 2^exponent
  int64_t count_ = 0;
  int64_t bad_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace trainyard::quant
