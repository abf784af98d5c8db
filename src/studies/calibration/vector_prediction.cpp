#include "studies/calibration/vector_prediction.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::measure {
namespace {

// An empty kernel, and the way of a copy through the driver: assumptions of the usual order (5 to
// 7 us of a copy were measured by Wu et al., arXiv 2602.21548, section 5.2).
constexpr double kLaunchSeconds = 5e-6;
constexpr double kCopySeconds = 10e-6;
// From the loads of one element to the next element of the same thread: the latency of the memory.
// 463 ms for 2^20 elements with one thread of a K80 (M. Harris, "Unified Memory for CUDA
// Beginners", NVIDIA, 2017); newer devices are assumed to be alike.
constexpr double kElementSeconds = 0.44e-6;

// A page of managed memory that a kernel (or the host) touches first is fetched by a fault: 2.1 ms
// in place of 0.69 ms for the 8 MiB of 2^20 elements on a P100 (the same article). Before Pascal
// there are no faults: the driver moves all of it before the kernel starts.
constexpr double kPageBytes = 65536;
constexpr double kFaultSeconds = 11e-6;

bool has_page_faults(const predict::Device& device) {
  return device.kind != "kepler" && device.kind != "maxwell";
}

double threads_of(const std::string& launch, int64_t elements) {
  if (launch == "1x1") return 1;
  if (launch == "1x256") return 256;
  TY_REQUIRE(launch == "Nx256", "unknown launch '{}'; there are 1x1, 1x256, Nx256", launch);
  const int64_t blocks = (elements + 255) / 256;
  return static_cast<double>(blocks * 256);
}

}  // namespace

device::VectorRow predict_vector_case(const predict::Device& device,
                                      const device::VectorCase& what) {
  const auto elements = static_cast<double>(what.elements);
  const double vector_bytes = elements * sizeof(float);
  const double waiting = elements / threads_of(what.launch, what.elements) * kElementSeconds;
  const double moving = device::vector_bytes(what.op, what.elements) /
                        (device.bytes_per_s * std::min(1.0, device.memory_factor));
  device::VectorRow row{.device = device.id, .what = what};
  row.origin = device::VectorOrigin::kPredicted;
  row.limit_bytes_per_s = device.bytes_per_s;
  const int inputs = device::vector_inputs(what.op);
  const int outputs = device::vector_outputs(what.op);
  const bool faults = what.memory == "unified" && has_page_faults(device);
  const double vector_s = vector_bytes / device.host_bytes_per_s +
                          (faults ? vector_bytes / kPageBytes * kFaultSeconds : 0);
  const double each_s = faults ? 0 : kCopySeconds;
  row.timing.to_device_s = inputs * (each_s + vector_s);
  row.timing.first_kernel_s = kLaunchSeconds + std::max(waiting, moving);
  row.timing.from_device_s = each_s + outputs * vector_s;
  return row;
}

}  // namespace trainyard::measure
