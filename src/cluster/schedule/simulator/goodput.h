// Jobs as Pollux' simulator has them (Qiao et al., OSDI 2021): measured steps by placement and
// batch, and progress by the statistical efficiency of the batch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cluster/schedule/simulator/job.h"

namespace trainyard::schedule {

// Seconds of a step and of its synchronization.
using StepSeconds = std::pair<double, double>;

// Measured steps by images per worker, for the placements that were measured and, where one was
// not, by numbers of nodes and workers; between them linear, beyond them that of the last.
class StepTable {
 public:
  // `placement`: the workers on each node, a digit each, such as "144".
  void add_placement(const std::string& placement, int64_t local, StepSeconds seconds);
  void add_counts(int64_t nodes, int64_t workers, int64_t local, StepSeconds seconds);
  bool empty() const { return by_counts_.empty(); }
  StepSeconds at(const std::vector<int32_t>& placement, int64_t local) const;

 private:
  struct Mean {
    StepSeconds sum = {};
    double count = 0;
  };
  using Curve = std::map<int64_t, Mean>;  // by images per worker

  std::map<std::string, Curve> by_placement_;
  std::map<int64_t, std::map<int64_t, Curve>> by_counts_;  // nodes, workers
};

struct GoodputApplication {
  int64_t init_batch = 1;
  int64_t most_batch = 1;
  int64_t least_local = 1;
  int64_t most_local = 1;
  int64_t epochs = 1;
  std::vector<double> progress;  // steps of the initial batch after each epoch, from 0
  // What was recorded with batches of a size, by epoch; sizes between are interpolated.
  struct Recorded {
    int64_t completion_epoch = 0;
    std::vector<double> iterations;
    std::vector<double> square;
    std::vector<double> variance;
  };
  std::map<int64_t, Recorded> by_batch;
  // By "placement|images per worker"; a placement is its smallest rotation.
  std::map<std::string, StepSeconds> steps;
  StepTable table;  // for what is not in `steps`

  // No value: not measured.
  std::optional<StepSeconds> step(const std::vector<int32_t>& placement, int64_t local) const;

  // One field of the records at an epoch, for any batch.
  double recorded(std::vector<double> Recorded::*field, int64_t batch, size_t epoch) const;
};

// Throws Error for members that are missing, of another length or out of range.
GoodputApplication read_application(const Json& data);

// A batch that its owner fixed, split over however many workers.
class GoodputProgress : public Progress {
 public:
  GoodputProgress(std::shared_ptr<const GoodputApplication> application, int64_t batch)
      : application_(std::move(application)), target_(batch) {}

  std::shared_ptr<Progress> copy() const override {
    return std::make_shared<GoodputProgress>(*this);
  }
  // Iterations of the target batch.
  double remaining() const override;
  double done() const override;
  // Iterations per second with whole nodes of four.
  double speed(int32_t servers, int32_t workers, int32_t type) const override;
  std::optional<double> run(const Allocation& allocation, double seconds) override;
  // Nothing is lost: there a job goes on where it was.
  void lose(const Allocation&, double) override {}

 private:
  struct Split {
    int64_t local = 1;    // images per worker and pass
    int64_t further = 0;  // passes before a synchronization, beyond the first
  };
  Split split(int64_t workers, bool always_accumulate) const;
  size_t completion_epoch() const;

  std::shared_ptr<const GoodputApplication> application_;
  int64_t target_;
  double progress_ = 0;
  size_t epoch_ = 0;
};

}  // namespace trainyard::schedule
