#include "quant/histogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace trainyard::quant {
namespace {

// Bins of smaller numbers would need factors that floats do not have.
constexpr int kLeastExponent = -100;

struct Extent {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  int64_t bad = 0;
};

Extent extent_of(std::span<const float> values) {
  Extent extent;
  float spoilt = 0;  // stays 0 while all are finite
  for (const float x : values) {
    extent.min = std::min(extent.min, x);
    extent.max = std::max(extent.max, x);
    spoilt += x * 0.0F;
  }
  if (spoilt == 0.0F) return extent;
  Extent finite;
  for (const float x : values) {
    if (!std::isfinite(x)) {
      ++finite.bad;
      continue;
    }
    finite.min = std::min(finite.min, x);
    finite.max = std::max(finite.max, x);
  }
  return finite;
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
  const Extent extent = extent_of(values);
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
  if (extent.bad == 0) return count_values(values);
  std::vector<float> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](float x) { return std::isfinite(x); });
  count_values(finite);
}

void Histogram::count_values(std::span<const float> values) {
  // Many values fall into one bin after another's (zeros of a Relu): neighbors count apart, so
  // that none waits for the one before.
  constexpr size_t kLanes = 4;
  std::vector<uint32_t> lanes(kLanes * counts_.size(), 0);
  const auto factor = static_cast<float>(1 / width());
  int32_t bins[kBlock] = {};
  for (size_t at = 0; at < values.size(); at += kBlock) {
    const auto block = values.subspan(at, std::min(kBlock, values.size() - at));
    place_block(block, factor, bins);
    for (size_t i = 0; i < block.size(); ++i) {
      ++lanes[static_cast<size_t>(bins[i]) * kLanes + i % kLanes];
    }
  }
  for (size_t i = 0; i < lanes.size(); ++i) counts_[i / kLanes] += lanes[i];
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
