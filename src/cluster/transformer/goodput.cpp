#include "cluster/transformer/goodput.h"

#include <algorithm>
#include <cmath>

#include "cluster/transformer/memory.h"

namespace trainyard::transformer {
namespace {

constexpr double kHour = 3600;
constexpr double kShortest = 1;  // seconds
constexpr double kLongest = 30 * 24 * kHour;

}  // namespace

Goodput goodput_of(const Reliability& reliability, int64_t workers, double interval) {
  Goodput out;
  out.failure_seconds = reliability.device_hours * kHour / static_cast<double>(workers);
  out.interval_seconds = interval;
  // Until a part of `interval` seconds and its checkpoint pass without a failure.
  const double busy = (interval + reliability.save_seconds) / out.failure_seconds;
  const double each = (out.failure_seconds + reliability.restart_seconds) * std::expm1(busy);
  out.share = std::min(interval / each, 1.0);
  return out;
}

Goodput best_goodput(const Reliability& reliability, int64_t workers) {
  // The share rises and then falls: the range is cut by a third as long as it is wide.
  double low = std::log(kShortest);
  double high = std::log(kLongest);
  const auto share = [&](double at) {
    return goodput_of(reliability, workers, std::exp(at)).share;
  };
  while (high - low > 1e-4) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    (share(left) < share(right) ? low : high) = share(left) < share(right) ? left : right;
  }
  return goodput_of(reliability, workers, std::exp(low));
}

double checkpoint_bytes(const Transformer& model, const Mapping& mapping) {
  Mapping alone;
  alone.lora = mapping.lora;
  alone.optimizer = mapping.optimizer;
  alone.number = mapping.number;
  alone.sequence = 1;
  const Memory memory = memory_of(model, alone);
  const bool adapters = mapping.lora > 0;
  return (adapters ? memory.gradients / 2 : memory.weights) + memory.optimizer;
}

}  // namespace trainyard::transformer
