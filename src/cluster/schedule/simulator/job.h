// Jobs of a cluster, as the simulator and the policies know them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/schedule/speed/speed_model.h"

namespace trainyard::schedule {

// What nodes have and tasks take.
enum class Resource : uint8_t { kCpu, kGpu, kMemory, kBandwidth };
constexpr size_t kNumResources = 4;
using Resources = std::array<double, kNumResources>;
std::string_view resource_name(size_t index);

// Where the tasks of a job are: a node and how many of them.
struct Share {
  int32_t node = 0;
  int32_t count = 0;
  bool operator==(const Share&) const = default;
};
using Shares = std::vector<Share>;

// Empty: the job waits.
struct Allocation {
  int32_t servers = 0;
  int32_t workers = 0;
  int32_t type = 0;  // of the devices, an index into Cluster::types
  Shares server_nodes = {};
  Shares worker_nodes = {};

  bool empty() const { return workers == 0; }
  bool operator==(const Allocation&) const = default;
};

// How far a job is and how it gets on.
class Progress {
 public:
  virtual ~Progress() = default;
  // As it is now, to be run on its own.
  virtual std::shared_ptr<Progress> copy() const = 0;
  // Units of work that are left (steps, epochs, seconds …); 0 at the end.
  virtual double remaining() const = 0;
  // Of all work, 0..1.
  virtual double done() const = 0;
  // Units per second, as far as can be said now.
  virtual double speed(int32_t servers, int32_t workers, int32_t type) const = 0;
  // Whether the speed with an allocation stays what it is, so that the end can be told at once.
  virtual bool steady() const { return false; }
  // Works for at most `seconds`; the seconds until the end if it came.
  virtual std::optional<double> run(const Allocation& allocation, double seconds) = 0;
  // Loses the last `seconds` of work at the speed of `allocation` (a node failed).
  virtual void lose(const Allocation& allocation, double seconds) = 0;
};

struct Job {
  std::string id;
  std::string model;   // for people
  double arrival = 0;  // seconds
  double weight = 1;
  Resources worker = {};
  Resources server = {};
  // Elastic jobs may have any number up to these; a rigid one has exactly `gang` workers.
  int32_t most_workers = 1;
  int32_t most_servers = 0;  // 0: no servers, workers exchange gradients among themselves
  int32_t gang = 1;          // workers that its owner asked for
  bool rigid = false;
  std::shared_ptr<Progress> progress;

  bool has_servers() const { return most_servers > 0; }
  // What a worker and, if there are any, a server take together.
  Resources bundle() const;
  // What it takes for the job to run: its gang, or a bundle.
  Resources least() const;
};

// Work at a speed that depends on the allocation alone.
class SteadyProgress : public Progress {
 public:
  // By a fitted or given model, times the factor of the device's type (none: 1).
  SteadyProgress(double work, std::shared_ptr<const SpeedModel> speed,
                 std::vector<double> type_factors = {});
  // By a table of units per second: [servers - 1][workers - 1].
  SteadyProgress(double work, std::shared_ptr<const std::vector<std::vector<double>>> table);
  // A rigid job: `per_second` with its gang by device type, whatever the placement.
  SteadyProgress(double work, std::vector<double> per_second);

  std::shared_ptr<Progress> copy() const override {
    return std::make_shared<SteadyProgress>(*this);
  }
  double remaining() const override { return work_ - gone_; }
  double done() const override { return work_ > 0 ? gone_ / work_ : 1; }
  bool steady() const override { return true; }
  double speed(int32_t servers, int32_t workers, int32_t type) const override;
  std::optional<double> run(const Allocation& allocation, double seconds) override;
  void lose(const Allocation& allocation, double seconds) override;

 private:
  double work_;
  double gone_ = 0;
  std::shared_ptr<const SpeedModel> model_;
  std::shared_ptr<const std::vector<std::vector<double>>> table_;
  std::vector<double> by_type_;
};

}  // namespace trainyard::schedule
