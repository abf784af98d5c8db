#include "quant/choose_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace trainyard::quant {
namespace {

using Bins = std::vector<Histogram::Bin>;

// Ends are tried at these shares of the whole way from zero.
constexpr int kCandidates = 80;
constexpr double kSmallestShare = 0.05;

double squared_error(const Bins& bins, const Steps& steps) {
  double error = 0;
  for (const Histogram::Bin& bin : bins) {
    if (bin.count == 0) continue;
    const double off = bin.middle() - steps.rounded(bin.middle());
    error += static_cast<double>(bin.count) * off * off;
  }
  return error;
}

// Kullback-Leibler divergence of what the steps can tell from what was counted: values outside
// belong to the outermost bins inside, and a step tells only how many values it has, which are
// spread over those of its bins that have any.
double divergence(const Bins& bins, const Steps& steps) {
  struct Step {
    double count = 0;
    double bins = 0;
  };
  const auto step_of = [&](const Histogram::Bin& bin) {
    const double step = std::nearbyint(bin.middle() / steps.scale) + steps.zero;
    return static_cast<size_t>(std::clamp<double>(step, 0, steps.highest));
  };
  const auto inside = [&](const Histogram::Bin& bin) {
    return bin.middle() >= steps.low() && bin.middle() <= steps.high();
  };
  // Only what is inside is spread, so that clipping costs divergence.
  std::vector<Step> inner(static_cast<size_t>(steps.highest) + 1);
  double total = 0;
  double below = 0;
  double above = 0;
  for (const Histogram::Bin& bin : bins) {
    if (bin.count == 0) continue;
    const auto count = static_cast<double>(bin.count);
    total += count;
    if (!inside(bin)) {
      (bin.middle() < steps.low() ? below : above) += count;
      continue;
    }
    inner[step_of(bin)].count += count;
    inner[step_of(bin)].bins += 1;
  }
  const double kept = total - below - above;
  if (kept <= 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  const Histogram::Bin* last = nullptr;
  bool first = true;
  for (const Histogram::Bin& bin : bins) {
    if (bin.count != 0 && inside(bin)) last = &bin;
  }
  for (const Histogram::Bin& bin : bins) {
    if (bin.count == 0 || !inside(bin)) continue;
    double p = static_cast<double>(bin.count);
    if (first) p += below;
    if (&bin == last) p += above;
    first = false;
    const Step& step = inner[step_of(bin)];
    sum += p / total * std::log((p / total) / (step.count / step.bins / kept));
  }
  return sum;
}

// Tries to draw in the ends that `set` moves, and keeps what makes `cost` least.
template <typename Cost, typename Set>
void draw_in(const Bins& bins, const RangeRule& rule, const Cost& cost, const Set& set,
             Range& best) {
  const Range whole = best;
  double least = cost(bins, steps_for(best, rule.bits, rule.symmetric));
  for (int k = 1; k < kCandidates; ++k) {
    Range candidate = best;
    set(candidate, whole, 1 - (1 - kSmallestShare) * k / kCandidates);
    const double found = cost(bins, steps_for(candidate, rule.bits, rule.symmetric));
    if (found >= least) continue;
    least = found;
    best = candidate;
  }
}

// One end after the other; both at once where they belong together.
template <typename Cost>
Range search(const Histogram& histogram, const Bins& bins, const RangeRule& rule,
             const Cost& cost) {
  Range best{std::min(histogram.min(), 0.0), std::max(histogram.max(), 0.0)};
  const auto set_high = [](Range& r, const Range& whole, double share) {
    r.high = whole.high * share;
  };
  const auto set_low = [](Range& r, const Range& whole, double share) {
    r.low = whole.low * share;
  };
  if (rule.symmetric) {
    const double largest = std::max(-best.low, best.high);
    best = {-largest, largest};
    draw_in(
        bins, rule, cost,
        [&](Range& r, const Range& whole, double share) {
          set_high(r, whole, share);
          set_low(r, whole, share);
        },
        best);
  } else {
    draw_in(bins, rule, cost, set_high, best);
    draw_in(bins, rule, cost, set_low, best);
  }
  return best;
}

// Zero always has a step of its own, so what a Relu piles up there says nothing about the range: it
// counts as its neighbor does.
Bins without_zeros(Bins bins) {
  for (size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].low > 0 || bins[i].high < 0 || bins[i].high == 0) continue;
    const int64_t next = i + 1 < bins.size() ? bins[i + 1].count : 0;
    bins[i].count = std::min(bins[i].count, next);
  }
  return bins;
}

}  // namespace

const std::vector<std::string>& calibration_names() {
  static const std::vector<std::string> kNames = {"min-max", "percentile", "entropy", "mse"};
  return kNames;
}

Calibration calibration_from_name(std::string_view name) {
  const auto& names = calibration_names();
  const auto found = std::find(names.begin(), names.end(), name);
  TY_REQUIRE(found != names.end(),
             "'{}' is no way to calibrate; expected min-max, percentile, "
             "entropy or mse",
             name);
  return static_cast<Calibration>(found - names.begin());
}

Range choose_range(const Histogram& histogram, const RangeRule& rule) {
  const double tail = (1 - rule.percentile / 100) / 2;
  switch (rule.method) {
    case Calibration::kPercentile:
      return {histogram.quantile(tail), histogram.quantile(1 - tail)};
    case Calibration::kEntropy:
      return search(histogram, without_zeros(histogram.bins()), rule, divergence);
    case Calibration::kMse:
      return search(histogram, histogram.bins(), rule, squared_error);
    case Calibration::kMinMax:
      break;
  }
  return {histogram.min(), histogram.max()};
}

double rounding_sqnr_db(const Histogram& histogram, const Steps& steps) {
  const Bins bins = histogram.bins();
  double signal = 0;
  for (const Histogram::Bin& bin : bins) {
    signal += static_cast<double>(bin.count) * bin.middle() * bin.middle();
  }
  return sqnr_db(signal, squared_error(bins, steps));
}

}  // namespace trainyard::quant
