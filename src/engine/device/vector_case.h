// What is timed: one operation over vectors of float32, and the time of each phase of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::device {

// The five of BabelStream, from inputs x and y to z: z = x, z = s x, z = x + y, z = x + s y,
// sum of x y.
enum class VectorOp : uint8_t { kCopy, kScale, kAdd, kTriad, kDot };
inline constexpr std::array kVectorOps = {VectorOp::kCopy, VectorOp::kScale, VectorOp::kAdd,
                                          VectorOp::kTriad, VectorOp::kDot};
inline constexpr float kVectorScale = 0.5F;

std::string_view vector_op_name(VectorOp op);
// Throws Error with the nearest name.
VectorOp vector_op_from_name(std::string_view name);
// How many inputs it reads (1 or 2), and how many vectors of the full length it writes (0 or 1).
int vector_inputs(VectorOp op);
int vector_outputs(VectorOp op);
// Read and written by the operation, without what caches read before they write.
double vector_bytes(VectorOp op, int64_t elements);

struct VectorCase {
  VectorOp op = VectorOp::kAdd;
  int64_t elements = 0;
  std::string launch;  // on the host how the loop is written, on a device groups x work-items
  std::string memory;  // host, copies or unified
  // For unified: how host and device share it (sharing_name()).
  std::string sharing = {};
};

// Seconds. The first kernel is kept apart from the samples of the later ones.
struct VectorTiming {
  double alloc_s = 0;
  double first_touch_s = 0;
  double to_device_s = 0;
  double first_kernel_s = 0;
  std::vector<double> kernel_s = {};
  double from_device_s = 0;
  double free_s = 0;
  bool verified = false;
};

enum class VectorOrigin : uint8_t { kMeasured, kExtrapolated, kPredicted };
std::string_view vector_origin_name(VectorOrigin origin);

struct VectorRow {
  std::string device = {};
  VectorCase what = {};
  VectorTiming timing = {};       // of what.elements; extrapolated ones are scaled
  int64_t measured_elements = 0;  // fewer than what.elements if extrapolated, 0 if predicted
  VectorOrigin origin = VectorOrigin::kMeasured;
  double limit_bytes_per_s = 0;  // that the memory of the device reaches; 0: not known

  double kernel_median_s() const;
  double kernel_least_s() const;
  // Between the quartiles; 0 of a single kernel.
  double kernel_spread_s() const;
  // Until the result is where the host can read it; freeing comes after.
  double total_s() const;
  double bytes_per_s() const;  // of the median kernel
};

// Element i of the inputs: small numbers that float32 holds exactly, so that every operation but
// the sum must be exact.
inline float vector_x(int64_t i) {
  return 1.0F + static_cast<float>(i & 7) / 8.0F;
}
inline float vector_y(int64_t i) {
  return 2.0F - static_cast<float>(i & 15) / 16.0F;
}
// Whether z holds the result (or for the sum, whether `sum` is near enough for so many terms).
bool vector_verified(VectorOp op, const float* z, int64_t elements);
bool vector_sum_verified(double sum, int64_t elements);

}  // namespace trainyard::device
