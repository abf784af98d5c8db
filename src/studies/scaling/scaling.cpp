#include "studies/scaling/scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/bench.h"
#include "studies/scaling/core_speed_probe.h"
#include "train/replicas.h"
#include "train/run_parts.h"
#include "train/step_memory.h"
#include "train/task.h"
#include "train/worker_options.h"

namespace trainyard::measure {
namespace {

// Sums over steps.
struct Sums {
  double step_s = 0;
  double squared_steps = 0;
  double data_s = 0;
  double compute_s = 0;
  double communication_s = 0;
  double exposed_s = 0;
  double median_s = 0;
};

class Measurement {
 public:
  Measurement(const train::TrainConfig& config, const Graph& model, const data::Dataset& training,
              const train::WorkerIdentity& place, train::Replicas& replicas, double rate)
      : replicas_(replicas),
        rate_(rate),
        step_(model, train::step_options(config, place, train::named_objective(config))),
        loader_(training, train::training_loader(config, place, training)) {
    train::require_input_shape(step_.input(0).shape(), train::own_batch(config, place),
                               loader_.augmentations());
  }

  train::TrainingStep& step() { return step_; }
  int64_t steps_per_epoch() const { return loader_.num_batches(); }

  // Appends the time of each step without data I/O to `each`, if given.
  Sums run(int64_t steps, std::vector<double>* each = nullptr) {
    Sums sums;
    for (int64_t i = 0; i < steps; ++i) {
      const Stopwatch watch;
      const data::Batch* batch = next_batch();
      train::feed_step(*batch, train::feed_classes, step_);
      const double data_s = watch.seconds();
      replicas_.take_times();
      step_.run(rate_);
      const train::PhaseSeconds& phases = step_.seconds();
      const train::ExchangeTimes times = replicas_.take_times();
      sums.compute_s += phases.forward + phases.backward + phases.update - times.exposed_s;
      // Who waits for a sum waits while it is under way, its beginning and end included.
      sums.communication_s += std::max(times.communication_s, times.exposed_s);
      sums.exposed_s += times.exposed_s;
      sums.data_s += data_s;
      const double step_s = watch.seconds();
      sums.step_s += step_s;
      sums.squared_steps += step_s * step_s;
      if (each != nullptr) each->push_back(step_s - data_s);
    }
    return sums;
  }

 private:
  const data::Batch* next_batch() {
    if (const data::Batch* batch = started_ ? loader_.next() : nullptr) return batch;
    started_ = true;
    loader_.start_epoch(epoch_++);
    return loader_.next();
  }

  train::Replicas& replicas_;
  double rate_;
  train::TrainingStep step_;
  data::Loader loader_;
  bool started_ = false;
  int64_t epoch_ = 0;
};

void sum_over_ranks(train::Replicas& replicas, Sums& sums) {
  double* const fields[] = {&sums.step_s,    &sums.squared_steps,   &sums.data_s,
                            &sums.compute_s, &sums.communication_s, &sums.exposed_s,
                            &sums.median_s};
  std::array<double, std::size(fields)> values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = *fields[i];
  replicas.sum(values);
  for (size_t i = 0; i < values.size(); ++i) *fields[i] = values[i];
}

// Of the mean step. Workers step together, so that each step counts once.
double standard_error(const Sums& sums, const ScalePoint& point) {
  const auto count = static_cast<double>(point.steps * point.workers);
  const double mean = sums.step_s / count;
  const double variance = std::max(sums.squared_steps / count - mean * mean, 0.0);
  return std::sqrt(variance / static_cast<double>(point.steps - 1));
}

double median_of(const std::vector<double>& seconds) {
  return seconds.empty() ? 0 : runtime::summarize(seconds).median_s;
}

// The median of the slowest rank's steps; every rank has as many.
double median_slowest(train::Replicas& replicas, const std::vector<double>& mine) {
  std::vector<double> all(mine.size() * static_cast<size_t>(replicas.workers()), 0);
  const size_t own = mine.size() * static_cast<size_t>(replicas.rank());
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<ptrdiff_t>(own));
  replicas.sum(all);
  std::vector<double> slowest = mine;
  for (size_t i = 0; i < all.size(); ++i) {
    double& step = slowest[i % mine.size()];
    step = std::max(step, all[i]);
  }
  return median_of(slowest);
}

// Who waits in a sum sleeps.
void meet(train::Replicas& replicas) {
  double nothing = 0;
  replicas.sum({&nothing, 1});
}

// The mean of the ranks' medians.
double mean_median(train::Replicas& replicas, const std::vector<double>& mine) {
  double sum = median_of(mine);
  replicas.sum({&sum, 1});
  return sum / static_cast<double>(replicas.workers());
}

// Times of the same work, turn after turn.
struct TurnTimes {
  std::vector<double> at_once;  // by this worker beside all others
  std::vector<double> alone;    // by one while the others rest, each in its turn; 0 if not its turn

  // `work` does it once and returns the seconds that count.
  template <typename F>
  void add_at_once(train::Replicas& replicas, F&& work) {
    meet(replicas);
    at_once.push_back(work());
  }
  template <typename F>
  void add_alone(train::Replicas& replicas, F&& work) {
    meet(replicas);
    const auto turn = static_cast<int64_t>(alone.size());
    alone.push_back(turn % replicas.workers() == replicas.rank() ? work() : 0);
  }
};

double median_alone(train::Replicas& replicas, TurnTimes& turns) {
  replicas.sum(turns.alone);
  return median_of(turns.alone);
}

// Without what messages are filled up with.
int64_t gradient_bytes(const train::TrainingStep& step) {
  int64_t bytes = 0;
  for (size_t i = 0; i < step.num_parameters(); ++i) bytes += step.states()[i].type.num_bytes();
  return bytes;
}

// Fills in the medians of `point`.
void measure_losses(train::Replicas& replicas, Measurement& measurement, int threads,
                    ScalePoint& point) {
  constexpr int64_t kMostSteps = 60;
  const auto step = [&] {
    const Sums sums = measurement.run(1);
    return sums.step_s - sums.data_s;
  };
  CoreSpeedProbe yardstick(threads);
  double rounds = replicas.leads() ? static_cast<double>(yardstick.rounds_in(point.median_s)) : 0;
  replicas.sum({&rounds, 1});
  const auto only_cores = [&] { return yardstick.run(static_cast<int64_t>(rounds)); };

  TurnTimes together;
  TurnTimes silent;
  TurnTimes cores;
  const auto step_together = [&] {
    replicas.set_silent(false);
    together.add_at_once(replicas, step);
    replicas.set_silent(true);
  };
  replicas.set_silent(true);
  for (int64_t i = 0; i < std::min(kMostSteps, point.steps); ++i) {
    // A worker that rested is slow for a moment: in this order all have worked before what counts.
    meet(replicas);
    yardstick.run(static_cast<int64_t>(rounds / 10));
    cores.add_at_once(replicas, only_cores);
    if (i % 2 == 0) step_together();
    silent.add_at_once(replicas, step);
    if (i % 2 != 0) step_together();
    silent.add_alone(replicas, step);
    cores.add_alone(replicas, only_cores);
  }
  meet(replicas);
  point.alone_s = median_alone(replicas, silent);
  point.independent_s = mean_median(replicas, silent.at_once);
  point.slowest_s = median_slowest(replicas, silent.at_once);
  point.together_s = mean_median(replicas, together.at_once);
  point.cores_alone_s = median_alone(replicas, cores);
  point.cores_slowest_s = median_slowest(replicas, cores.at_once);
}

}  // namespace

ScalePoint measure_scale_point(dist::Communicator& comm, const train::TrainConfig& config,
                               const Graph& model, const data::Dataset& training,
                               const ScaleTask& task) {
  TY_REQUIRE(config.batch % comm.size() == 0, "a batch of {} for {} workers is uneven",
             config.batch, comm.size());
  TY_CHECK(!config.sync_bn, "a worker cannot step alone with statistics of all");
  ScalePoint point;
  point.workers = comm.size();
  point.batch = config.batch / comm.size();
  int threads = static_cast<int>(config.threads);
  const int64_t memory_before = runtime::peak_memory_bytes();
  {
    train::Replicas replicas(comm,
                             {.all_reduce = config.all_reduce, .overlap = !config.no_overlap});
    if (threads == 0) threads = replicas.fair_threads();
    Measurement measurement(config, model, training,
                            {replicas.rank(), replicas.workers(), threads, &replicas}, replicas,
                            task.rate);
    point.steps = task.steps > 0 ? task.steps : measurement.steps_per_epoch();
    measurement.run(point.steps);
    comm.barrier();
    std::vector<double> each;
    Sums sums = measurement.run(point.steps, &each);
    sums.median_s = median_of(each);
    if (comm.size() > 1) sum_over_ranks(replicas, sums);
    const auto count = static_cast<double>(point.steps * point.workers);
    point.step_s = sums.step_s / count;
    if (point.steps > 1) point.error_s = standard_error(sums, point);
    point.data_s = sums.data_s / count;
    point.compute_s = sums.compute_s / count;
    point.communication_s = sums.communication_s / count;
    point.exposed_s = sums.exposed_s / count;
    point.median_s = sums.median_s / static_cast<double>(point.workers);
    if (comm.size() > 1) point.gradient_bytes = gradient_bytes(measurement.step());
    point.memory_bytes = runtime::peak_memory_bytes() - memory_before;
    if (comm.size() > 1) {
      measure_losses(replicas, measurement, threads, point);
    }
  }
  return point;
}

int64_t planned_memory(const train::TrainConfig& config, const Graph& model) {
  const train::StepOptions options = train::step_options(
      config, {.threads = static_cast<int>(config.threads)}, train::named_objective(config));
  const train::TrainingGraph made = train::make_step_graph(model, options);
  return train::memory_of(train::compile_step(made, options), config.data_workers).total();
}

}  // namespace trainyard::measure
