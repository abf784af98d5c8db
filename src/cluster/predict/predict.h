// The question and the answer: how long, how fast, how much, on this device or cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/catalog.h"
#include "cluster/predict/comm/comm.h"
#include "cluster/predict/networks.h"
#include "cluster/predict/step.h"

namespace trainyard::predict {

enum class Model : uint8_t { kTrainyard, kPaleo };
enum class Scaling : uint8_t { kWeak, kStrong };

struct Cluster {
  int64_t per_host = 8;
  Link inside;
  Link between;
  int64_t servers = 0;
  const CommModel* comm = nullptr;

  // With the links' published bandwidths, and with what the stack makes of them.
  Topology topology(int64_t workers) const;
  Topology topology(int64_t workers, const Stack& stack) const;
};

struct Request {
  const Network* network = nullptr;
  const Device* device = nullptr;
  const Stack* stack = nullptr;
  Model model = Model::kTrainyard;
  Mode mode = Mode::kTraining;
  Precision precision = Precision::kFp32;
  Scaling scaling = Scaling::kWeak;
  std::vector<int64_t> workers = {1};
  int64_t batch = 32;  // per worker (weak) or of all workers together (strong)
  Cluster cluster;
  double input_images_per_s = 0;  // what a host can read and decode; 0: no limit
  double usd_per_hour = 0;        // of one device
  int64_t rented_together = 1;    // devices that are paid for together: those of an instance
  double dataset_images = 0;
  double epochs = 1;

  // PALEO only.
  paleo::Variant variant = paleo::Variant::kHead;
  bool pipelined = false;
  bool hybrid = false;
  paleo::PercentOfPeak percent;
};

// Times in seconds. Speed-up and efficiency are relative to `base_workers`: one, or where its batch
// does not fit into memory, the fewest of those asked for that fit (one again if none does). A row
// that does not fit has neither unless no row fits.
struct Row {
  int64_t workers = 1;
  int64_t batch_per_worker = 1;
  int64_t global_batch = 1;
  double forward = 0;
  double backward = 0;
  double update = 0;
  double comm = 0;
  double exposed_comm = 0;
  double waiting = 0;  // of workers for one another
  double input = 0;
  double step = 0;
  double images_per_s = 0;
  int64_t base_workers = 1;
  std::optional<double> speedup = 1;
  std::optional<double> efficiency = 1;
  double epoch = 0;
  double train = 0;
  double cost_usd = 0;
  double memory_bytes = 0;
  bool fits = true;
  double percent_of_peak = 0;  // useful FLOPs over the published peak, 0..1
  double algorithm_bandwidth = 0;
  double bus_bandwidth = 0;
  double utilization = 0;
  std::string_view comm_model;  // what `auto` chose
  std::string limit;            // in words
};

// Throws Error naming the figure that is beyond predict/limits.h or does not go with the others.
void check(const Request& request);

// Throws Error for workers or batches below 1, and for what the chosen model does not know.
std::vector<Row> predict(const Request& request);

// What is done with a batch that `workers` do not divide; empty if they do.
std::string uneven_batch_note(int64_t batch, int64_t workers);

// The PALEO scheme of the same meaning; throws Error naming those there are.
paleo::Scheme paleo_scheme(const CommModel& comm);

}  // namespace trainyard::predict
