// Training with parameter servers: servers hold the parameters and what the optimizer keeps, each a
// shard of them; workers compute gradients, push them and pull weights. Ranks 0 … workers-1 are the
// workers, the servers follow. docs/parameter-server.md describes it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"
#include "runs/safetensors.h"
#include "train/schedule.h"
#include "train/sharding.h"
#include "train/train_config.h"
#include "train/training_graph.h"

namespace trainyard::train {

enum class ServerMode : uint8_t {
  kSync,       // an update is the mean of one gradient of each worker
  kAsync,      // every gradient is an update of its own, applied when it comes
  kStaleSync,  // as kAsync, but no worker runs ahead of the slowest by more than a bound
};
// "sync", "async" or "ssp"; throws Error otherwise.
ServerMode parse_server_mode(std::string_view text);

struct ServerOptions {
  int64_t workers = 1;
  int64_t servers = 1;
  ServerMode mode = ServerMode::kSync;
  int64_t staleness_bound = 0;  // kStaleSync: gradients a worker may be ahead of the slowest
  // The rate of a gradient is divided by its staleness if that is above 1 (Zhang, Gupta, Lian, Liu:
  // Staleness-aware Async-SGD for Distributed Deep Learning, IJCAI 2016).
  bool staleness_aware = false;
  // Worker -> factor: it takes so many times as long for a gradient.
  std::map<int64_t, double> slow = {};
  ShardRule shard = ShardRule::kEven;
};

// "1:2.5,3:4": workers and their factors. Throws Error.
std::map<int64_t, double> parse_slow(std::string_view text);
ServerOptions server_options(const TrainConfig& config);
// Throws Error for numbers that make no sense, and for what does not go together with servers:
// batch normalization over all workers, and clipping by the norm with several servers.
void check_servers(const TrainConfig& config);

// The staleness of a gradient: how many updates were applied between the read of the weights it was
// computed from and its own.
class StalenessCount {
 public:
  void add(int64_t staleness);
  // [s]: gradients of staleness s.
  const std::vector<int64_t>& histogram() const { return histogram_; }
  int64_t gradients() const;
  double mean() const;
  int64_t maximum() const { return static_cast<int64_t>(histogram_.size()) - 1; }  // -1: none

 private:
  std::vector<int64_t> histogram_;
};

// Of reported_metrics(): counts, and means times images. An objective with more is refused.
inline constexpr size_t kMostMetrics = 8;
using MetricValues = std::array<double, kMostMetrics>;

// What a server notes of each gradient.
struct PushRecord {
  int64_t update = 0;  // that it became part of, from 1
  int64_t worker = 0;
  int64_t staleness = 0;
  int64_t lead = 0;  // gradients of this worker in the epoch, less those of the slowest
  double rate = 0;
  double loss = 0;
  MetricValues metrics = {};
  int64_t images = 0;
  double compute_s = 0;  // of the gradient, the batch made and artificial slowness included
  double wait_s = 0;     // of its worker for weights before it
};

// How the learning rate follows the updates.
struct RatePlan {
  Schedule schedule;
  double base = 0;
  double epochs = 1;
  int64_t updates_per_epoch = 1;
};

// Serves this rank's shard until every worker has finished. Throws Failure naming a worker that is
// silent for longer than the communicator's limit (ten times that between epochs, while worker 0
// tests) though it is not waiting for an answer.
void serve_shard(dist::Communicator& comm, const ServerOptions& options,
                 std::span<const runs::NamedType> parameters, const OptimizerOptions& optimizer,
                 const RatePlan& rates);

}  // namespace trainyard::train
