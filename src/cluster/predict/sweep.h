// The cross product of networks, devices, workers, batches, communication and scaling, fast.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/predict.h"

namespace trainyard::predict {

struct SweepSpec {
  std::vector<std::string> models;
  std::vector<std::string> devices;
  std::vector<int64_t> workers = {1};
  std::vector<int64_t> batches = {32};
  std::vector<std::string> comms = {"auto"};
  std::vector<Scaling> scalings = {Scaling::kWeak};
  std::vector<std::string> links = {""};  // empty: each device's usual one
  std::vector<Precision> precisions = {Precision::kFp32};
  std::string stack;   // empty: each device's default
  std::string inside;  // link within a host; empty: each device's own
  int64_t per_host = 8;
  double dataset_images = 1281167;
  double epochs = 90;

  int64_t configurations() const;
};

// Reads a specification. Throws Error with file, line and field, and for unknown names.
SweepSpec read_sweep(std::string_view text, const std::string& origin);

// One configuration; indices point into the specification.
struct SweepRow {
  int32_t model = 0, device = 0, comm = 0, link = 0;
  Precision precision = Precision::kFp32;
  Scaling scaling = Scaling::kWeak;
  int64_t workers = 1;
  int64_t batch = 1;
  double step = 0;
  double images_per_s = 0;
  double train = 0;
  double cost_usd = 0;
  double memory_bytes = 0;
  bool fits = true;
};

// Training with the trainyard model. Left out are strong scaling with more workers than images, and
// batches of all workers that are more than an epoch has.
std::vector<SweepRow> run_sweep(const SweepSpec& spec, const Catalog& catalog, Networks& networks);

// What can be made small: "time", "cost", "memory", "workers".
using Measure = double (*)(const SweepRow&);
Measure measure_from_name(std::string_view name);

// The rows that fit in memory and that no other row beats in one measure without being worse in
// another, smallest first measure first.
std::vector<SweepRow> pareto(std::vector<SweepRow> rows, const std::vector<Measure>& measures);

}  // namespace trainyard::predict
