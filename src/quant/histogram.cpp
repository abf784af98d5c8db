#include "quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "engine/kernels/parallel/parallel.h"

namespace trainyard::quant {
namespace {

// Bins of smaller numbers would need factors that floats do not have.
constexpr int kLeastExponent = -100;

struct Extent {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  int64_t bad = 0;

  void join(const Extent& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    bad += other.bad;
  }
};

Extent finite_extent(std::span<const float> values) {
  Extent extent;
  for (const float x : values) {
    if (std::isfinite(x)) {
      extent.join({x, x, 0});
    } else {
      ++extent.bad;
    }
  }
  return extent;
}

// Numbers that are kept side by side need no order among them, so vectors can hold them.
Extent extent_of(std::span<const float> values) {
  constexpr size_t kSide = 32;
  float least[kSide];
  float most[kSide];
  float spoilt[kSide] = {};  // stays 0 while all are finite
  const Extent none;
  std::fill_n(least, kSide, none.min);
  std::fill_n(most, kSide, none.max);
  const size_t whole = values.size() / kSide * kSide;
  for (size_t at = 0; at < whole; at += kSide) {
    for (size_t i = 0; i < kSide; ++i) {
      const float x = values[at + i];
      least[i] = x < least[i] ? x : least[i];
      most[i] = x > most[i] ? x : most[i];
      spoilt[i] += x * 0.0F;
    }
  }
  Extent extent = finite_extent(values.subspan(whole));
  for (size_t i = 0; i < kSide; ++i) {
    if (spoilt[i] != 0.0F) return finite_extent(values);
    if (whole > 0) extent.join({least[i], most[i], 0});
  }
  return extent;
}

// A part of many values for each thread. Fewer are not worth waking others.
constexpr size_t kLeastPart = 16'384;
int64_t parts_of(std::span<const float> values) {
  const auto most = static_cast<int64_t>(values.size() / kLeastPart);
  return std::clamp<int64_t>(most, 1, kernels::threads());
}

std::span<const float> part_of(std::span<const float> values, int64_t parts, int64_t index) {
  const size_t begin = values.size() * static_cast<size_t>(index) / static_cast<size_t>(parts);
  const size_t end = values.size() * static_cast<size_t>(index + 1) / static_cast<size_t>(parts);
  return values.subspan(begin, end - begin);
}

// The bins of up to kBlock values, from factor = 1 / width, which is a power of two: exact.
constexpr size_t kBlock = 1024;
void place_block(std::span<const float> values, float factor, int32_t* bins) {
  for (size_t i = 0; i < values.size(); ++i) {
    const float steps = values[i] * factor;
    const auto towards_zero = static_cast<int32_t>(steps);
    bins[i] = towards_zero - (steps < static_cast<float>(towards_zero) ? 1 : 0) +
              static_cast<int32_t>(Histogram::kSideBins);
  }
}

}  // namespace

double Histogram::width() const {
  return std::ldexp(1.0, exponent_) / static_cast<double>(kSideBins);
}

void Histogram::make_room(int exponent) {
  if (exponent_ == kNone) exponent_ = exponent;
  for (; exponent_ < exponent; ++exponent_) {
    std::vector<int64_t> wider(counts_.size(), 0);
    for (int64_t i = 0; i < 2 * kSideBins; ++i) {
      wider[static_cast<size_t>(((i - kSideBins) >> 1) + kSideBins)] +=
          counts_[static_cast<size_t>(i)];
    }
    counts_ = std::move(wider);
  }
}

void Histogram::add(std::span<const float> values) {
  const int64_t parts = parts_of(values);
  std::vector<Extent> extents(static_cast<size_t>(parts));
  kernels::parallel_for(parts, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      extents[static_cast<size_t>(i)] = extent_of(part_of(values, parts, i));
    }
  });
  Extent extent;
  for (const Extent& part : extents) extent.join(part);
  bad_ += extent.bad;
  const int64_t good = static_cast<int64_t>(values.size()) - extent.bad;
  if (good == 0) return;
  min_ = count_ == 0 ? double{extent.min} : std::min(min_, double{extent.min});
  max_ = count_ == 0 ? double{extent.max} : std::max(max_, double{extent.max});
  count_ += good;
  int exponent = kLeastExponent;
  if (const float largest = std::max(-extent.min, extent.max); largest > 0) {
    std::frexp(largest, &exponent);
  }
  make_room(std::max(exponent, kLeastExponent));
  if (extent.bad == 0) return count_values(values, parts);
  std::vector<float> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](float x) { return std::isfinite(x); });
  count_values(finite, parts);
}

void Histogram::count_values(std::span<const float> values, int64_t parts) {
  // Many values fall into one bin after another's (zeros of a Relu): neighbors count apart, so
  // that none waits for the one before.
  constexpr size_t kLanes = 4;
  std::vector<std::vector<uint32_t>> lanes(static_cast<size_t>(parts),
                                           std::vector<uint32_t>(kLanes * counts_.size(), 0));
  const auto factor = static_cast<float>(1 / width());
  kernels::parallel_for(parts, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      const std::span<const float> own = part_of(values, parts, part);
      uint32_t* counts = lanes[static_cast<size_t>(part)].data();
      int32_t bins[kBlock] = {};
      for (size_t at = 0; at < own.size(); at += kBlock) {
        const auto block = own.subspan(at, std::min(kBlock, own.size() - at));
        place_block(block, factor, bins);
        for (size_t i = 0; i < block.size(); ++i) {
          ++counts[static_cast<size_t>(bins[i]) * kLanes + i % kLanes];
        }
      }
    }
  });
  for (const std::vector<uint32_t>& part : lanes) {
    for (size_t i = 0; i < part.size(); ++i) counts_[i / kLanes] += part[i];
  }
}

void Histogram::merge(const Histogram& other) {
  bad_ += other.bad_;
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  Histogram fitted = other;
  fitted.make_room(exponent_);
  make_room(fitted.exponent_);
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += fitted.counts_[i];
}

std::vector<Histogram::Bin> Histogram::bins() const {
  std::vector<Bin> bins;
  if (count_ == 0) return bins;
  const double w = width();
  const auto place = [&](double x) { return static_cast<int64_t>(std::floor(x / w)); };
  for (int64_t i = place(min_); i <= place(max_); ++i) {
    const auto low = static_cast<double>(i) * w;
    bins.push_back({std::max(low, min_), std::min(low + w, max_),
                    counts_[static_cast<size_t>(i + kSideBins)]});
  }
  return bins;
}

double Histogram::mean() const {
  double sum = 0;
  for (const Bin& bin : bins()) sum += static_cast<double>(bin.count) * bin.middle();
  return count_ > 0 ? sum / static_cast<double>(count_) : 0;
}

double Histogram::sigma() const {
  const double mid = mean();
  double sum = 0;
  for (const Bin& bin : bins()) {
    sum += static_cast<double>(bin.count) * (bin.middle() - mid) * (bin.middle() - mid);
  }
  return count_ > 0 ? std::sqrt(sum / static_cast<double>(count_)) : 0;
}

double Histogram::quantile(double share) const {
  if (share <= 0) return min_;
  double left = share * static_cast<double>(count_);
  for (const Bin& bin : bins()) {
    const auto here = static_cast<double>(bin.count);
    if (left < here) return bin.low + (bin.high - bin.low) * left / here;
    left -= here;
  }
  return max_;
}

int64_t Histogram::outside(double low, double high) const {
  int64_t outside = 0;
  for (const Bin& bin : bins()) {
    if (bin.middle() < low || bin.middle() > high) outside += bin.count;
  }
  return outside;
}

Bars Histogram::bars(int64_t count) const {
  Bars bars{min_, max_, std::vector<int64_t>(static_cast<size_t>(count), 0)};
  const double span = max_ - min_;
  for (const Bin& bin : bins()) {
    const double share = span > 0 ? (bin.middle() - min_) / span : 0;
    const auto at = static_cast<int64_t>(share * static_cast<double>(count));
    bars.counts[static_cast<size_t>(std::min(at, count - 1))] += bin.count;
  }
  return bars;
}

}  // namespace trainyard::quant
