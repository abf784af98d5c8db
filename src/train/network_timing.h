// Runs a network many times and keeps the times, in use or in training.
#pragma once

#include <optional>

#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "engine/profile.h"
#include "ir/graph.h"
#include "train/training_step.h"

namespace trainyard::measure {

struct MeasureOptions {
  int threads = 1;
  int64_t warmup = 3;
  int64_t runs = 20;
  int64_t max_iterations =
      runtime::CompileOptions{}.max_iterations;  // of a Loop in inference; beyond it is an error
  bool reference_only = false;
  std::shared_ptr<device::Device> device = {};  // null: none
  bool profile = false;                         // keep the time of every step
  kernels::Precision precision = kernels::Precision::kF32;
};

// The processor's own kernels beside a device: both run in turns of the same command.
struct HostTimes {
  runtime::Timing timing = {};
  int64_t turns = 0;
  double times_slower = 0;  // median of the device over that of the processor
  // The same of single turns, the least and the most.
  double least = 0;
  double most = 0;
};

struct Measured {
  runtime::Executable executable;
  runtime::Profile profile;
  runtime::Timing timing = {};
  double compile_s = 0;
  int64_t batch = 1;
  std::optional<train::PhaseSeconds> phases = {};  // medians; training only
  std::optional<HostTimes> processor = {};         // of inference with a device only
};

// With a device, `timing` is the device's and `processor` that of the same network without it.
Measured measure_inference(Graph graph, const MeasureOptions& options);
// Steps of forward, backward and SGD update on the same images.
Measured measure_training(const Graph& graph, const MeasureOptions& options);

}  // namespace trainyard::measure
