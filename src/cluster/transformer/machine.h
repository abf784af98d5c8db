// What a device is to a transformer: peaks by precision, memory, the links of its groups.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cluster/predict/catalog.h"

namespace trainyard::transformer {

inline constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

// Half is bf16 or fp16: both are as fast. The last two hold weights in half precision.
enum class Number : uint8_t { kFp32, kTf32, kHalf, kFp8, kFp4 };
inline constexpr int kNumbers = 5;
// fp32, tf32, bf16, fp16, fp8, nvfp4. Throws Error listing them.
Number number_from_name(std::string_view name);
std::string_view number_name(Number number);

struct Machine {
  std::string id;
  std::string generation;
  std::array<double, kNumbers> peaks = {};  // FLOP/s; 0: it has none
  double memory_bytes = 0;
  double bytes_per_s = 0;
  predict::LinkSpeed inside;    // between devices of a domain
  predict::LinkSpeed between;   // of one device, to other domains
  int64_t domain = 8;           // devices that share the fast link
  double host_bytes_per_s = 0;  // to the memory of the host
  bool low_power = false;       // at most 75 W, which is too little for the clock of its peak

  double peak(Number number) const { return peaks[static_cast<size_t>(number)]; }
};

// By the names of the catalog or those under which results are published. Throws Error with the
// nearest names.
Machine machine_of(const predict::Catalog& catalog, std::string_view name);
// False if there is no such device.
bool is_machine(const predict::Catalog& catalog, std::string_view name);

}  // namespace trainyard::transformer
