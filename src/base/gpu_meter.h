// What the GPUs of NVIDIA are busy with, told by the library of their driver (NVML).
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace trainyard {

// Of one GPU.
struct GpuSample {
  double busy = 0;          // share of the time in which it computed: 0 to 1
  double memory_busy = 0;   // share of the time in which its memory was read or written: 0 to 1
  double memory_bytes = 0;  // in use, by anybody
  double memory_share = 0;  // of its memory
  double power_w = 0;       // 0: it does not say
  double temperature_c = 0;
};

// Opens the library, if there is one. Not thread-safe.
class GpuMeter {
 public:
  explicit GpuMeter(const std::string& library = "libnvidia-ml.so.1");
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // Of each GPU that answers now, in the driver's order; empty without driver or GPU.
  std::vector<GpuSample> read() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace trainyard
