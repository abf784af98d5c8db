#include "engine/bench.h"

#include <algorithm>
#include <cstring>
#include <sys/resource.h>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/peak.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::runtime {
namespace {

// The best of many attempts: interruptions only make a loop slower. They go on for so long because
// threads begin on the core of the thread that started them, and it takes the system some
// hundredths of a second to spread them.
template <typename F>
double best_rate(double work, F&& f) {
  constexpr double kSeconds = 0.2;
  double best = 0;
  const Stopwatch whole;
  while (whole.seconds() < kSeconds) {
    const Stopwatch run;
    f();
    best = std::max(best, work / run.seconds());
  }
  return best;
}

double loop_rate(int threads, double (*operations)(int64_t), void (*loop)(int64_t)) {
  constexpr int64_t kRounds = 1'000'000;
  kernels::set_threads(threads);
  return best_rate(operations(kRounds) * threads, [&] {
    kernels::parallel_for(threads, [&](int64_t, int64_t) { loop(kRounds); });
  });
}

double fma_rate(int threads) {
  return loop_rate(threads, kernels::native::fma_loop_flops, kernels::native::fma_loop);
}

double byte_rate(int threads) {
  if (!kernels::native::cpu_has_avx2_fma()) return 0;
  return loop_rate(threads, kernels::native::byte_loop_operations, kernels::native::byte_loop);
}

double bf16_rate(int threads) {
  if (!kernels::native::cpu_has_avx512_bf16()) return 0;
  return loop_rate(threads, kernels::native::bf16_loop_flops, kernels::native::bf16_loop);
}

}  // namespace

Timing summarize(std::vector<double> seconds) {
  TY_CHECK(!seconds.empty(), "nothing was measured");
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    const auto index = static_cast<size_t>(share * static_cast<double>(seconds.size()));
    return seconds[std::min(index, seconds.size() - 1)];
  };
  return {.median_s = at(0.5),
          .p10_s = at(0.1),
          .p90_s = at(0.9),
          .p99_s = at(0.99),
          .min_s = seconds[0],
          .runs = static_cast<int64_t>(seconds.size())};
}

void fill_random(Tensor& tensor, uint64_t seed) {
  if (tensor.dtype() != DType::kF32) {
    std::memset(tensor.data(), 0, static_cast<size_t>(tensor.num_bytes()));
    return;
  }
  const RandomStream stream(seed);
  std::span<float> values = tensor.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(2.0 * stream.uniform(i) - 1.0);
  }
}

void fill_inputs(ExecutionContext& context, const Executable& executable, uint64_t seed) {
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    fill_random(context.input(i), seed ^ hash_text(executable.inputs()[i].name));
  }
}

std::vector<double> run_seconds(const std::function<void(Profile*)>& run, int64_t runs,
                                Profile* profile) {
  std::vector<double> seconds;
  for (int64_t i = 0; i < runs; ++i) {
    const Stopwatch one;
    run(profile);
    seconds.push_back(one.seconds());
  }
  return seconds;
}

Timing time_runs(const std::function<void(Profile*)>& run, int64_t warmup, int64_t runs,
                 Profile* profile) {
  for (int64_t i = 0; i < warmup; ++i) run(nullptr);
  return summarize(run_seconds(run, runs, profile));
}

MachinePeak measure_peak(int threads) {
  MachinePeak peak;
  peak.gflops_one_thread = fma_rate(1) * 1e-9;
  peak.gflops = threads > 1 ? fma_rate(threads) * 1e-9 : peak.gflops_one_thread;
  peak.int8_gops = byte_rate(threads) * 1e-9;
  peak.bf16_gflops = bf16_rate(threads) * 1e-9;
  // Larger than any cache of the processors this runs on.
  constexpr int64_t kBytes = int64_t{256} << 20;
  const Tensor data = Tensor::zeros({DType::kF32, Shape{kBytes / 4}});
  const float* values = data.values<float>().data();
  kernels::set_threads(threads);
  peak.memory_gb_per_s =
      best_rate(static_cast<double>(kBytes),
                [&] {
                  kernels::parallel_for(kBytes / 4, [&](int64_t begin, int64_t end) {
                    kernels::native::sum_loop(values + begin, end - begin);
                  });
                }) *
      1e-9;
  return peak;
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace trainyard::runtime
