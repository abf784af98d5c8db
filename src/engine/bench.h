// Timing: repeated runs of an executable, and what this machine can do at most.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/executable.h"
#include "engine/profile.h"

namespace trainyard::runtime {

struct Timing {
  double median_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  double p99_s = 0;
  double min_s = 0;
  int64_t runs = 0;
};

// The quantiles of some measurements (sorted or not; at least one).
Timing summarize(std::vector<double> seconds);

// Fills a float tensor with numbers in [-1, 1), the same each time.
void fill_random(Tensor& tensor, uint64_t seed);

// Fills float inputs with fill_random() and integer ones with zeros.
void fill_inputs(ExecutionContext& context, const Executable& executable, uint64_t seed);

// The time of each of `runs` calls of run(profile); `profile` may be null.
std::vector<double> run_seconds(const std::function<void(Profile*)>& run, int64_t runs,
                                Profile* profile);

// Calls run(null) `warmup` times, which do not count, then run(profile) `runs` times, which do.
// `profile` may be null.
Timing time_runs(const std::function<void(Profile*)>& run, int64_t warmup, int64_t runs,
                 Profile* profile);

// Multiply-adds count as two operations.
struct MachinePeak {
  double gflops_one_thread = 0;
  double gflops = 0;  // all threads
  double int8_gops =
      0;  // products of bytes, all threads; 0: this processor has no kernels for them
  double bf16_gflops = 0;  // products of bf16, all threads; 0: this processor has none
  double memory_gb_per_s = 0;
};

// Runs loops of independent multiply-adds in registers, and a read of a large array; takes about
// half a second.
MachinePeak measure_peak(int threads);

// The process's largest resident set so far, in bytes.
int64_t peak_memory_bytes();

}  // namespace trainyard::runtime
