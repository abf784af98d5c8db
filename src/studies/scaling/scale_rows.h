// Measured steps of data-parallel training as plain numbers, and what follows from them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace trainyard::measure {

// One measured pair of workers and batch: means over steps and workers, in seconds.
struct ScalePoint {
  int64_t workers = 1;
  int64_t batch = 1;  // of one worker
  int64_t steps = 0;
  double step_s = 0;  // everything
  // The standard error of that mean over the steps; NaN for a single step.
  double error_s = std::numeric_limits<double>::quiet_NaN();
  double data_s = 0;           // of these, waiting for and copying the batch
  double compute_s = 0;        // forward, backward and update without waiting for sums
  double communication_s = 0;  // sums of gradients under way or waited for, hidden or not
  double exposed_s = 0;        // of these, what the worker waited for
  double median_s = 0;         // of the steps without data I/O
  // Such medians, taken in turns so that a machine whose speed drifts is compared with itself: of
  // one worker while the others rest, of all at the same time that send nothing, of the slowest of
  // these in each step, and of all together. 0: not measured.
  double alone_s = 0;
  double independent_s = 0;
  double slowest_s = 0;
  double together_s = 0;
  // And of work that needs only the cores, as long as a step: of one worker while the others rest,
  // and of the slowest of all at the same time.
  double cores_alone_s = 0;
  double cores_slowest_s = 0;
  int64_t gradient_bytes = 0;  // of one worker and step
  // What the largest resident set of the process grew by; right for the first point of a process.
  int64_t memory_bytes = 0;

  double images_per_s() const { return static_cast<double>(workers * batch) / step_s; }
  double without_data_s() const { return step_s - data_s; }
};

// What a point means for a whole training.
struct ScaleSettings {
  int64_t images = 0;  // of an epoch
  double epochs = 1;
  double usd_per_hour = 0;  // of one worker
};

struct ScaleRow {
  int64_t workers = 1;
  int64_t batch = 1;  // of one worker
  int64_t global_batch = 1;
  bool measured = true;  // false: between measured batches
  double step_s = 0;
  double error_s = 0;  // standard error of step_s
  double images_per_s = 0;
  double epoch_s = 0;
  double speedup = 1;     // of the epoch, against one worker of the same kind of scaling
  double efficiency = 1;  // speed-up per worker
  double train_s = 0;     // all epochs
  double cost_usd = 0;
};

// The same batch for every worker: the work of a step grows with the workers. Efficiency is then
// the time of a step with one worker over that with n. Workers ascending; empty without a point of
// one worker.
std::vector<ScaleRow> weak_scaling(std::span<const ScalePoint> points, int64_t batch,
                                   const ScaleSettings& settings);

// The same batch for all together: each of n workers has 1/n of it. A share that was not measured
// lies between the two measured batches around it, on a straight line; rows whose share is outside
// of all measured ones, or no whole number, are left out.
std::vector<ScaleRow> strong_scaling(std::span<const ScalePoint> points, int64_t global_batch,
                                     const ScaleSettings& settings);

// Where the time goes that a step takes longer with n workers than with one.
struct ScaleLoss {
  double alone_s = 0;
  double independent_s = 0;
  double slowest_s = 0;
  double together_s = 0;
  double cores_alone_s = 0;
  double cores_slowest_s = 0;
  double efficiency() const { return alone_s / together_s; }
  // What workers would keep that need nothing but their cores, and wait for each other.
  double limit() const { return cores_alone_s / cores_slowest_s; }
  // Of the step together: what is lost because workers share caches and memory, because all wait
  // for whoever is slowest in a step, and because they talk to each other.
  double contention() const { return (independent_s - alone_s) / together_s; }
  double unevenness() const { return (slowest_s - independent_s) / together_s; }
  double communication() const { return (together_s - slowest_s) / together_s; }
};
ScaleLoss scale_loss(const ScalePoint& point);

}  // namespace trainyard::measure
