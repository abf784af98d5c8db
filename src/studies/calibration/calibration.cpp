#include "studies/calibration/calibration.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/machine_facts.h"
#include "base/stopwatch.h"
#include "cluster/predict/this_machine.h"
#include "engine/compiler.h"
#include "engine/kernels/parallel/parallel.h"
#include "studies/calibration/step_samples.h"
#include "train/training_step.h"

namespace trainyard::measure {
namespace {

constexpr int64_t kLeastRounds = 3;
constexpr int64_t kMostRounds = 25;

// One graph at one batch, compiled, with the times of its steps so far.
class Subject {
 public:
  Subject(const CalibrationGraph& graph, int64_t batch, bool training, int threads,
          const std::shared_ptr<device::Device>& device)
      : name_(graph.name),
        profile_(predict::profile_graph(graph.build(1))),
        batch_(static_cast<double>(batch)) {
    if (training) {
      train::StepOptions options;
      options.threads = threads;
      options.device = device;
      step_ = std::make_unique<train::TrainingStep>(graph.build(batch), options);
      runtime::fill_random(step_->input(0), /*seed=*/1);
    } else {
      runtime::CompileOptions options;
      options.threads = threads;
      options.device = device;
      const runtime::Executable executable = runtime::compile(graph.build(batch), options);
      context_ = std::make_unique<runtime::ExecutionContext>(executable);
      executable_ = std::make_unique<runtime::Executable>(executable);
      runtime::fill_inputs(*context_, executable, /*seed=*/1);
    }
    times_.resize(steps().size());
    run(nullptr);
  }

  const std::string& name() const { return name_; }

  void measure() {
    runtime::Profile profile(executable());
    run(&profile);
    const std::vector<double> seconds = profile.step_seconds();
    for (size_t i = 0; i < times_.size(); ++i) times_[i].push_back(seconds[i]);
  }

  double total_seconds() const {
    double sum = 0;
    for (const double seconds : typical()) sum += seconds;
    return sum;
  }

  std::vector<predict::MeasuredSample> samples() const {
    const std::vector<double> seconds = typical();
    return step_ ? training_samples(profile_, batch_, steps(), seconds)
                 : inference_samples(profile_, batch_, steps(), seconds);
  }

 private:
  const runtime::Executable& executable() const {
    return step_ ? step_->executable() : *executable_;
  }
  const std::vector<runtime::StepInfo>& steps() const { return executable().steps(); }

  void run(runtime::Profile* profile) {
    // Too small a rate to matter: the work is the same.
    constexpr double kRate = 1e-6;
    if (step_) {
      step_->run(kRate, profile);
    } else {
      context_->run(profile);
    }
  }

  // Medians, as `bench` has them of networks.
  std::vector<double> typical() const {
    std::vector<double> out;
    for (const std::vector<double>& times : times_) {
      out.push_back(runtime::summarize(times).median_s);
    }
    return out;
  }

  std::string name_;
  predict::NetworkProfile profile_;
  double batch_;
  std::unique_ptr<train::TrainingStep> step_;
  std::unique_ptr<runtime::ExecutionContext> context_;
  std::unique_ptr<runtime::Executable> executable_;
  std::vector<std::vector<double>> times_;
};

int resolve(int threads) {
  return threads > 0 ? threads : kernels::available_cores();
}

void report(const CalibrationOptions& options, double share, std::string_view what) {
  if (options.progress) options.progress(share, what);
}

// Compiling is taken for this share of the whole.
constexpr double kCompiling = 0.2;

std::vector<std::unique_ptr<Subject>> compile_all(const CalibrationOptions& options, int threads) {
  std::vector<std::unique_ptr<Subject>> subjects;
  const auto count = static_cast<double>(options.graphs.size());
  for (size_t i = 0; i < options.graphs.size(); ++i) {
    const CalibrationGraph& graph = options.graphs[i];
    report(options, kCompiling * static_cast<double>(i) / count, "compiling " + graph.name);
    for (const bool training : {false, true}) {
      const auto& batches = training ? graph.training_batches : graph.inference_batches;
      for (const int64_t batch : batches) {
        subjects.push_back(
            std::make_unique<Subject>(graph, batch, training, threads, options.device));
      }
    }
  }
  return subjects;
}

// Round after round over all subjects, so that a slow moment does not fall on one of them, and what
// a subject leaves in the caches is gone when its turn comes again, as in a network.
void measure_all(const CalibrationOptions& options,
                 const std::vector<std::unique_ptr<Subject>>& subjects) {
  const Stopwatch watch;
  for (int64_t round = 0; round < kMostRounds; ++round) {
    const double used = watch.seconds();
    const double per_round = round > 0 ? used / static_cast<double>(round) : 0;
    if (round >= kLeastRounds && used + per_round > options.seconds) break;
    for (const auto& subject : subjects) {
      const double share = std::min(1.0, watch.seconds() / options.seconds);
      report(options, kCompiling + (1 - kCompiling) * share, "measuring " + subject->name());
      subject->measure();
    }
  }
}

// How much faster two kinds of work are on all threads than on one.
std::vector<ThreadScaling> measure_scaling(const CalibrationOptions& options, int threads) {
  std::vector<ThreadScaling> scaling;
  if (threads < 2 || options.graphs.empty() || options.device != nullptr) return scaling;
  const auto seconds_of = [&](const CalibrationGraph& graph, int count) {
    Subject subject(graph, graph.inference_batches.back(), /*training=*/false, count, nullptr);
    for (int64_t i = 0; i < kLeastRounds + 2; ++i) subject.measure();
    return subject.total_seconds();
  };
  const std::pair<std::string_view, std::string_view> kinds[] = {
      {"convolutions", "residual"}, {"element-wise and pooling", "plain"}, {"linear", "linear"}};
  for (const auto& [what, prefix] : kinds) {
    for (const CalibrationGraph& graph : options.graphs) {
      if (!graph.name.starts_with(prefix)) continue;
      scaling.push_back({what, seconds_of(graph, 1), seconds_of(graph, threads)});
      break;
    }
  }
  return scaling;
}

predict::Device describe(const runtime::MachinePeak& peak, int threads) {
  const Json facts = machine_facts();
  predict::Device device;
  device.id = predict::this_machine(threads, kernels::available_cores());
  device.name = fmt::format("{}, {} thread{}", facts.at("processor").as_string(), threads,
                            threads == 1 ? "" : "s");
  device.kind = "cpu";
  device.fp32 = peak.gflops * 1e9;
  device.bytes_per_s = peak.memory_gb_per_s * 1e9;
  device.memory_bytes = static_cast<double>(facts.at("memory_bytes").as_int());
  // Two multiply-adds of eight floats per cycle, as the loop that found the peak has them.
  constexpr double kFlopsPerCycle = 32;
  device.clock_hz = peak.gflops_one_thread * 1e9 / kFlopsPerCycle;
  device.cores = threads;
  device.inside = "pcie3";
  device.stack = "trainyard-" + device.id;
  device.source = fmt::format("measured by trainyard calibrate, {}", facts.at("time").as_string());
  return device;
}

// As the driver and libtorch describe it.
predict::Device describe(const device::Device& on, const DevicePeak& peak, int threads) {
  const device::DeviceInfo& info = on.info();
  const Json facts = machine_facts();
  const bool processors = info.name == "torch:cpu";
  const std::string what = processors || info.features.empty() ? facts.at("processor").as_string()
                                                               : info.features.front();
  predict::Device device;
  device.id = calibrated_id(&on, threads);
  device.name = fmt::format("{}, by {} {}", what, info.platform, info.version);
  device.kind = processors ? "cpu" : "gpu";
  device.fp32 = peak.flops_per_s;
  device.bytes_per_s = peak.bytes_per_s;
  device.memory_bytes = info.memory_bytes;
  device.clock_hz = info.clock_hz;
  device.cores = processors ? threads : 0;
  device.stack = "libtorch-" + device.id;
  device.source = fmt::format("measured by trainyard calibrate, {}", facts.at("time").as_string());
  return device;
}

}  // namespace

std::string calibrated_id(const device::Device* device, int64_t threads) {
  if (device == nullptr) return predict::this_machine(threads, kernels::available_cores());
  std::string id = device->info().name;
  std::replace(id.begin(), id.end(), ':', '-');
  return id;
}

Calibration calibrate(const CalibrationOptions& options) {
  const int threads = resolve(options.threads);
  Calibration result;
  result.threads = threads;
  report(options, 0, "peaks");
  if (options.device != nullptr) {
    result.device =
        describe(*options.device, measure_device_peak(options.device, threads), threads);
    result.stack.name = options.device->info().platform + " on this machine";
  } else {
    result.peak = runtime::measure_peak(threads);
    result.stack.name = "Trainyard's engine on this machine";
  }
  result.scaling = measure_scaling(options, threads);
  const std::vector<std::unique_ptr<Subject>> subjects = compile_all(options, threads);
  measure_all(options, subjects);
  for (const auto& subject : subjects) {
    for (predict::MeasuredSample& sample : subject->samples()) {
      result.samples.push_back(std::move(sample));
    }
  }
  if (options.device == nullptr) {
    // A slow moment must not set the peaks.
    const runtime::MachinePeak again = runtime::measure_peak(threads);
    result.peak.gflops = std::max(result.peak.gflops, again.gflops);
    result.peak.gflops_one_thread =
        std::max(result.peak.gflops_one_thread, again.gflops_one_thread);
    result.peak.memory_gb_per_s = std::max(result.peak.memory_gb_per_s, again.memory_gb_per_s);
    result.device = describe(result.peak, threads);
  }
  result.stack.id = result.device.stack;
  result.stack.winograd = true;
  result.stack.fitted_to =
      fmt::format("{} steps of {} small graphs", result.samples.size(), options.graphs.size());
  result.stack.measured = std::make_shared<const predict::MeasuredCosts>(
      predict::fit_costs(result.samples, result.device.bytes_per_s));
  report(options, 1, "done");
  return result;
}

}  // namespace trainyard::measure
