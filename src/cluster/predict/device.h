// What the catalogs describe: devices, links, instances with their prices. Every entry says where
// its numbers are from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/predict/comm/comm.h"
#include "cluster/predict/paleo/cost.h"

namespace trainyard::predict {

enum class Precision : uint8_t { kFp64, kFp32, kTf32, kFp16, kInt8 };
inline constexpr std::array kPrecisions = {Precision::kFp64, Precision::kFp32, Precision::kTf32,
                                           Precision::kFp16, Precision::kInt8};
std::string_view precision_name(Precision precision);
// Throws Error listing the precisions.
Precision precision_from_name(std::string_view name);
double bytes_per_element(Precision precision);

// Peaks in FLOP/s (operations for int8), 0 where the source has none.
struct Device {
  std::string id;
  std::string name;
  std::string kind;  // devices of one kind behave alike
  int64_t year = 0;  // that it came out; 0: before all software that could be assumed for it
  double fp64 = 0;
  double fp32 = 0;
  double tf32 = 0;
  double fp16 = 0;
  double fp16_matrix = 0;      // with matrix units, sums in single precision
  double fp16_accumulate = 0;  // with matrix units, sums in half precision
  double int8 = 0;
  double memory_bytes = 0;
  double bytes_per_s = 0;
  double clock_hz = 0;  // that the peaks are for; 0: not known
  double base_hz = 0;   // that the board's power allows in any case
  int64_t multiprocessors = 0;
  double cache_bytes = 0;       // of the last level
  double watts = 0;             // of the board
  double host_bytes_per_s = 0;  // of the link to its host
  int64_t cores = 0;            // of a CPU
  std::string inside;           // link to the other devices of a host
  std::string between;          // link between hosts that such devices usually have
  std::string stack;            // the software stack to assume; empty: what suits its kind
  std::optional<paleo::Machine> paleo;
  std::string source;

  // What the fits found beside the published figures (the catalog's section `factors`).
  double vector_factor = 1;
  double matrix_factor = 1;
  double memory_factor = 1;

  bool is_cpu() const { return kind.starts_with("cpu"); }
  // The best published peak for `precision`, falling back to the next wider type that has one.
  double peak(Precision precision) const;
  // Products that the matrix units of one multiprocessor do in a cycle (fp16), relative to Volta's
  // 512; 1 where they are not known. Shared memory has the same width in all generations.
  double matrix_load() const;
  // As PALEO would describe it: its own figures where it has the device.
  paleo::Machine paleo_machine() const;
};

struct Link {
  std::string id;
  std::string name;
  LinkSpeed speed;
  double paleo_gbit_per_s = 0;
  bool each_device = false;  // every device of a host has one; otherwise the host has one
  std::string source;
};

// A machine that a cloud rents, or accelerators for one: a row of catalog/instances.csv, whose head
// says what the columns mean.
struct Instance {
  enum class Part : uint8_t { kWhole, kHost, kAccelerators };

  std::string cloud;
  std::string instance;  // its name there
  std::string service;
  std::string name;  // with the service: ml.p3.2xlarge
  Part part = Part::kWhole;
  double vcpus = 0;  // 0: not known
  double ram_gib = 0;
  std::string accelerator;
  std::optional<double> count;  // of accelerators; no value: not known
  double accelerator_gib = 0;
  std::string native;
  std::string device;
  std::string inside;
  std::string network;
  bool up_to = false;
  std::string region;
  std::optional<double> usd_per_hour;
  std::optional<double> spot_usd_per_hour;
  std::string date;
  std::string price_source;
  std::string source;

  // A part of an accelerator is none.
  int64_t whole_count() const { return count ? static_cast<int64_t>(*count) : 0; }
  std::optional<double> at(bool spot) const { return spot ? spot_usd_per_hour : usd_per_hour; }
};

// An instance that can be rented and predicted for, with all that is paid for it.
struct RentableInstance {
  std::string cloud;
  std::string instance;
  std::string device;
  int64_t devices = 1;
  std::string inside;   // links
  std::string network;  // empty: not known, so that it can be predicted only alone
  bool up_to = false;   // the network's speed is a peak that is not sustained
  double usd_per_hour = 0;
  bool complete = true;  // false: the accelerators alone, without the machine around them
  std::string date;
  std::string source;

  double per_device() const { return usd_per_hour / static_cast<double>(devices); }
  std::string network_text() const;  // "25gbe", "up to 10gbe", "not known"
};

}  // namespace trainyard::predict
