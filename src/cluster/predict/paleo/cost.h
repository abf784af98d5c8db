// What PALEO charges for one pass of one layer: computation and memory traffic, in milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/predict/paleo/conv_shape.h"

namespace trainyard::predict::paleo {

inline constexpr double kFloatBytes = 4;
inline constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

// PALEO's own description of a device. The clock is only the floor of every term.
struct Machine {
  double clock_mhz = 1000;
  double peak_gflops = 1;
  double memory_gbps = 1;  // called GB/s but used as GiB/s, as PALEO does
};

// Platform percent of peak: what share of the peaks a software stack reaches.
struct PercentOfPeak {
  double compute = 1;
  double network = 1;
};

struct Times {
  double compute_ms = 0;
  double memory_ms = 0;

  // PALEO adds the two; its pipelined option takes the larger per layer.
  double total(bool pipelined) const {
    return pipelined ? (compute_ms > memory_ms ? compute_ms : memory_ms) : compute_ms + memory_ms;
  }
  Times& operator+=(const Times& other) {
    compute_ms += other.compute_ms;
    memory_ms += other.memory_ms;
    return *this;
  }
};

// kWinograd costs nothing: PALEO warns and charges 0 ms.
enum class Algorithm : uint8_t { kGemm, kGemmWorkspace, kFft, kFftTiling, kWinograd };

// FLOPs and the memory terms of one pass; every term has its own floor of one clock tick.
struct Work {
  double flops = 0;
  std::vector<double> bytes;
};

class Pricer {
 public:
  Pricer(const Machine& machine, double percent_compute)
      : machine_(machine), percent_(percent_compute) {}

  double tick_ms() const { return 1 / machine_.clock_mhz / 1e3; }
  double compute_ms(double flops) const;
  double memory_ms(double bytes) const;
  Times price(const Work& work) const;
  Times fft(const ConvShape& view, bool tiling) const;
  Times conv(const ConvShape& view, Algorithm algorithm, Variant variant) const;

 private:
  Machine machine_;
  double percent_;
};

// The convolution as one matrix product.
Work gemm_work(const ConvShape& view, Variant variant);
// rows x in times in x out.
Work linear_work(int64_t rows, int64_t in, int64_t out);
Work pool_work(int64_t window, int64_t in_elements, int64_t out_elements);
Work dropout_work(int64_t elements);
// w -= rate * dw, always at 100 % of peak.
Times update_times(const Machine& machine, double weight_bytes);

}  // namespace trainyard::predict::paleo
