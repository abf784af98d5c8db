#include "engine/device/vector_case.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::device {
namespace {

constexpr std::array<std::string_view, kVectorOps.size()> kOpNames = {"copy", "scale", "add",
                                                                      "triad", "dot"};
constexpr std::array<std::string_view, 3> kOriginNames = {"measured", "extrapolated", "predicted"};

float expected_element(VectorOp op, int64_t i) {
  switch (op) {
    case VectorOp::kCopy:
      return vector_x(i);
    case VectorOp::kScale:
      return kVectorScale * vector_x(i);
    case VectorOp::kAdd:
      return vector_x(i) + vector_y(i);
    default:
      return vector_x(i) + kVectorScale * vector_y(i);
  }
}

}  // namespace

std::string_view vector_op_name(VectorOp op) {
  return kOpNames.at(static_cast<size_t>(op));
}

VectorOp vector_op_from_name(std::string_view name) {
  const auto found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) {
    const std::vector<std::string> names(kOpNames.begin(), kOpNames.end());
    throw_error("unknown vector operation '{}'; there are {}.{}", name, join(names, ", "),
                did_you_mean(name, names));
  }
  return static_cast<VectorOp>(found - kOpNames.begin());
}

int vector_inputs(VectorOp op) {
  return op == VectorOp::kCopy || op == VectorOp::kScale ? 1 : 2;
}

int vector_outputs(VectorOp op) {
  return op == VectorOp::kDot ? 0 : 1;
}

double vector_bytes(VectorOp op, int64_t elements) {
  const int vectors = vector_inputs(op) + vector_outputs(op);
  return static_cast<double>(vectors) * sizeof(float) * static_cast<double>(elements);
}

std::string_view vector_origin_name(VectorOrigin origin) {
  return kOriginNames.at(static_cast<size_t>(origin));
}

double VectorRow::kernel_median_s() const {
  if (timing.kernel_s.empty()) return timing.first_kernel_s;
  std::vector<double> sorted = timing.kernel_s;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double VectorRow::kernel_least_s() const {
  if (timing.kernel_s.empty()) return timing.first_kernel_s;
  return *std::min_element(timing.kernel_s.begin(), timing.kernel_s.end());
}

double VectorRow::kernel_spread_s() const {
  if (timing.kernel_s.size() < 2) return 0;
  std::vector<double> sorted = timing.kernel_s;
  std::sort(sorted.begin(), sorted.end());
  const size_t quarter = sorted.size() / 4;
  return sorted[sorted.size() - 1 - quarter] - sorted[quarter];
}

double VectorRow::total_s() const {
  return timing.alloc_s + timing.first_touch_s + timing.to_device_s + kernel_median_s() +
         timing.from_device_s;
}

double VectorRow::bytes_per_s() const {
  const double seconds = kernel_median_s();
  return seconds > 0 ? vector_bytes(what.op, what.elements) / seconds : 0;
}

bool vector_verified(VectorOp op, const float* z, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    if (z[i] != expected_element(op, i)) return false;
  }
  return true;
}

bool vector_sum_verified(double sum, int64_t elements) {
  // The inputs repeat every 16 elements.
  constexpr int64_t kPeriod = 16;
  std::array<double, kPeriod + 1> sums = {};
  for (int64_t i = 0; i < kPeriod; ++i) {
    const auto at = static_cast<size_t>(i);
    sums[at + 1] = sums[at] + static_cast<double>(vector_x(i)) * static_cast<double>(vector_y(i));
  }
  const int64_t periods = elements / kPeriod;
  const double expected =
      static_cast<double>(periods) * sums[kPeriod] + sums[static_cast<size_t>(elements % kPeriod)];
  const double tolerance = 1e-6 * (1 + std::log2(static_cast<double>(elements)));
  return std::abs(sum - expected) <= tolerance * expected;
}

}  // namespace trainyard::device
