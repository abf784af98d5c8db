#include "report/chart_scale.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace trainyard::report {

Scale::Scale(std::vector<double> values, bool log, bool from_zero) : log_(log) {
  std::erase_if(values, [&](double v) { return !shows(v); });
  if (values.empty()) values = {log ? 1.0 : 0.0};
  whole_ = std::all_of(values.begin(), values.end(), [](double v) { return v == std::round(v); });
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  // From zero where that costs less than half of the height: lengths can then be compared by eye.
  low_ = from_zero && !log && *low > 0 && *low < 0.5 * *high ? 0 : *low;
  high_ = *high;
  // One value: it stands in the middle of something instead of dividing by zero.
  if (low_ == high_) {
    low_ = log ? low_ / 2 : std::min(low_, 0.0);
    high_ = log ? high_ * 2 : std::max(high_, low_ + 1);
  }
}

std::vector<double> Scale::round_ticks() {
  if (log_ && high_ >= 2 * low_) return powers();
  constexpr double kMostSteps = 5;
  const double exact = (high_ - low_) / kMostSteps;
  const double power = std::pow(10.0, std::floor(std::log10(exact)));
  double step = 10 * power;
  // The smallest round step that is not below the exact one; the tolerance keeps 0.1 * 3 from
  // becoming 0.5.
  for (const double factor : {5.0, 2.5, 2.0, 1.0}) {
    const double candidate = factor * power;
    // Between whole numbers, such as epochs, there is nothing to mark.
    if (whole_ && candidate != std::round(candidate)) continue;
    if (candidate >= exact * (1 - 1e-9)) step = candidate;
  }
  if (whole_) step = std::max(step, 1.0);
  const double first = std::floor(low_ / step + 1e-9);
  const double last = std::ceil(high_ / step - 1e-9);
  // Ends move outwards to ticks, so that the outermost labels stand at the ends of the axis.
  low_ = first * step;
  high_ = last * step;
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

bool Scale::shows(double v) const {
  return std::isfinite(v) && (!log_ || v > 0);
}

double Scale::at(double place) const {
  const double v = bent(low_) + place * (bent(high_) - bent(low_));
  return log_ ? std::pow(10.0, v) : v;
}

// 1, 2 and 5 times powers of ten; of many, powers alone.
std::vector<double> Scale::powers() {
  // Powers of ten beyond this overflow.
  if (low_ < 1e-300 || high_ > 1e300) return {low_, high_};
  constexpr double kFewDecades = 2;
  constexpr double kMostSteps = 6;
  constexpr double kNearly = 1e-9;
  const double decades = std::log10(high_ / low_);
  const std::vector<double> factors =
      decades > kFewDecades ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
  const double stride = std::max(1.0, std::ceil(decades / kMostSteps));
  std::vector<double> ticks;
  for (double exponent = std::floor(std::log10(low_) + kNearly);
       ticks.empty() || ticks.back() < high_ * (1 - kNearly); exponent += stride) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, exponent);
      if (tick <= low_ * (1 + kNearly)) ticks.clear();
      if (ticks.empty() || ticks.back() < high_ * (1 - kNearly)) ticks.push_back(tick);
    }
  }
  low_ = ticks.front();
  high_ = ticks.back();
  return ticks;
}

double Scale::bent(double v) const {
  return log_ ? std::log10(v) : v;
}

std::string tick_label(double value) {
  return std::fabs(value) >= 1e3 ? si(value) : fmt::format("{:.3g}", value);
}

}  // namespace trainyard::report
