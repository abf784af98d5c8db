// `trainyard bench MODEL`: measured time of a network, and of the machine itself.
#include "engine/bench.h"

#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "program/command.h"
#include "program/model_argument.h"
#include "train/execution_view.h"
#include "train/network_timing.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kMostRuns = 1'000'000;

struct BenchFlags {
  ModelArgument model;
  int64_t threads = 0;
  int64_t runs = 20;
  int64_t warmup = 3;
  int64_t max_iterations = measure::MeasureOptions{}.max_iterations;
  bool machine = false;
  bool train = false;
  bool profile = false;
  bool roofline = false;
  std::string precision = "f32";
  bool explain = false;
  bool reference = false;
  std::string device = "cpu";
  std::string trace;
  report::Format format = report::Format::kText;
};

int run_machine(const BenchFlags& flags, std::ostream& out) {
  const int threads = resolve_threads(flags.threads);
  const runtime::MachinePeak peak = runtime::measure_peak(threads);
  report::Document document;
  report::Table table({{"measured", report::Align::kLeft}, {"value"}});
  table.add_row(
      {"multiply-add peak, 1 thread", fmt::format("{:.1f} GFLOP/s", peak.gflops_one_thread)});
  table.add_row({fmt::format("multiply-add peak, {} threads", threads),
                 fmt::format("{:.1f} GFLOP/s", peak.gflops)});
  table.add_row({fmt::format("products of bytes, {} threads", threads),
                 fmt::format("{:.1f} GOP/s", peak.int8_gops)});
  if (peak.bf16_gflops > 0) {
    table.add_row({fmt::format("products of bf16, {} threads", threads),
                   fmt::format("{:.1f} GFLOP/s", peak.bf16_gflops)});
  }
  table.add_row({"memory read", fmt::format("{:.1f} GB/s", peak.memory_gb_per_s)});
  document.blocks.emplace_back(std::move(table));
  document.data = Json::object({{"threads", threads},
                                {"gflops_one_thread", peak.gflops_one_thread},
                                {"gflops", peak.gflops},
                                {"int8_gops", peak.int8_gops},
                                {"bf16_gflops", peak.bf16_gflops},
                                {"memory_gb_per_s", peak.memory_gb_per_s}});
  out << report::render(document, flags.format);
  return 0;
}

measure::Measured measure(const BenchFlags& flags, Graph graph,
                          const std::shared_ptr<device::Device>& device) {
  const measure::MeasureOptions options{
      .threads = resolve_threads(flags.threads),
      .warmup = flags.warmup,
      .runs = flags.runs,
      .max_iterations = require_iterations(flags.max_iterations),
      .reference_only = flags.reference,
      .device = device,
      .profile = flags.profile || flags.roofline || !flags.trace.empty(),
      .precision = kernels::precision_named(flags.precision)};
  return flags.train ? measure::measure_training(graph, options)
                     : measure::measure_inference(std::move(graph), options);
}

void add_phases(report::Document& document, const train::PhaseSeconds& phases, double step_s) {
  report::Table table({{"part of the step", report::Align::kLeft}, {"median"}, {"share"}});
  const std::pair<const char*, double> rows[] = {
      {"forward", phases.forward}, {"backward", phases.backward}, {"update", phases.update}};
  for (const auto& [name, seconds] : rows) {
    table.add_row({name, report::seconds_cell(seconds), report::percent_cell(seconds / step_s)});
    document.data[std::string(name) + "_ms"] = seconds * 1e3;
  }
  // The same images are used again and again.
  document.data["data_ms"] = 0.0;
  document.blocks.emplace_back(std::move(table));
}

// By the nodes that are run, which fusion may have changed.
double flops_of(const runtime::Executable& executable) {
  double flops = 0;
  for (const runtime::StepInfo& step : executable.steps()) {
    flops += static_cast<double>(step.cost.flops);
  }
  return flops;
}

void add_timing(Json& data, const runtime::Timing& timing) {
  data["median_ms"] = timing.median_s * 1e3;
  data["p10_ms"] = timing.p10_s * 1e3;
  data["p90_ms"] = timing.p90_s * 1e3;
  data["p99_ms"] = timing.p99_s * 1e3;
  data["min_ms"] = timing.min_s * 1e3;
  data["runs"] = timing.runs;
}

void add_row(report::Table& table, const std::string& name, const measure::Measured& measured,
             const runtime::Timing& timing, const std::vector<report::Cell>& rest) {
  const double images = static_cast<double>(measured.batch) / timing.median_s;
  const double gflops = flops_of(measured.executable) / timing.median_s * 1e-9;
  std::vector<report::Cell> cells = {name,
                                     report::count_cell(measured.batch),
                                     report::count_cell(measured.executable.threads()),
                                     report::seconds_cell(timing.median_s),
                                     report::seconds_cell(timing.p10_s),
                                     report::seconds_cell(timing.p90_s),
                                     report::fixed_cell(images, 1),
                                     report::fixed_cell(gflops, 1)};
  cells.insert(cells.end(), rest.begin(), rest.end());
  table.add_row(std::move(cells));
}

// What the device is worth beside the processor that it is plugged into.
void add_processor(report::Document& document, const std::string& device,
                   const measure::HostTimes& processor) {
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} takes {:.3g} times as long as the processor's own kernels ({:.3g} to {:.3g} "
                  "in {} turns of both).",
                  device, processor.times_slower, processor.least, processor.most, processor.turns),
      report::Tone::kAnswer});
  document.data["device"] = device;
  document.data["times_slower"] = processor.times_slower;
  document.data["times_slower_least"] = processor.least;
  document.data["times_slower_most"] = processor.most;
  document.data["turns"] = processor.turns;
  Json timing = Json::object();
  add_timing(timing, processor.timing);
  document.data["processor"] = std::move(timing);
}

int bench_command(const BenchFlags& flags, std::ostream& out) {
  if (flags.machine) return run_machine(flags, out);
  TY_REQUIRE(!flags.model.text().empty(), "bench needs a MODEL, or --machine");
  TY_REQUIRE(
      1 <= flags.runs && flags.runs <= kMostRuns && 0 <= flags.warmup && flags.warmup <= kMostRuns,
      "--runs must be 1 to {}, --warmup at most that", kMostRuns);
  report::Document document;
  Graph graph = flags.model.load();
  if (flags.profile || flags.roofline || flags.explain) add_weights_notice(document, graph);
  const std::shared_ptr<device::Device> device = device::open_network_device(flags.device);
  const measure::Measured measured = measure(flags, std::move(graph), device);
  const runtime::Executable& executable = measured.executable;
  const runtime::Timing& timing = measured.timing;
  // Before the peak is measured, whose buffers would count too.
  const int64_t memory = runtime::peak_memory_bytes();
  const double on_processor_s =
      measured.processor ? measured.processor->timing.median_s : timing.median_s;
  const runtime::MachinePeak peak = peak_above(executable, on_processor_s);
  if (!flags.trace.empty()) write_file(flags.trace, measured.profile.trace_json());

  const double at_peak_s = seconds_at_peak(executable, peak);
  report::Table table({{measured.processor ? "on" : "model", report::Align::kLeft},
                       {"batch"},
                       {"threads"},
                       {"median"},
                       {"p10"},
                       {"p90"},
                       {"images/s"},
                       {"GFLOP/s"},
                       {"of peak"},
                       {"peak memory"},
                       {"compile"}});
  const report::Cell memory_cell = report::bytes_cell(memory);
  const report::Cell compile_cell = report::seconds_cell(measured.compile_s);
  if (measured.processor) {
    // The peak is the processor's; memory is of the process that has both.
    add_row(table, device->info().name, measured, timing, {"", memory_cell, compile_cell});
    add_row(table, "processor", measured, measured.processor->timing,
            {report::percent_cell(at_peak_s / on_processor_s), "", ""});
  } else {
    add_row(table, flags.model.text(), measured, timing,
            {report::percent_cell(at_peak_s / timing.median_s), memory_cell, compile_cell});
  }
  document.blocks.emplace_back(std::move(table));
  if (const std::string note = above_peak_note(at_peak_s / on_processor_s); !note.empty()) {
    document.blocks.emplace_back(report::Paragraph{note});
  }
  if (measured.phases) add_phases(document, *measured.phases, timing.median_s);
  document.data["model"] = flags.model.text();
  document.data["mode"] = flags.train ? "train" : "infer";
  document.data["batch"] = measured.batch;
  document.data["precision"] = flags.precision;
  document.data["threads"] = executable.threads();
  add_timing(document.data, timing);
  document.data["images_per_s"] = static_cast<double>(measured.batch) / timing.median_s;
  document.data["gflops"] = flops_of(executable) / timing.median_s * 1e-9;
  document.data["share_of_peak"] = measured.processor ? Json() : Json(at_peak_s / timing.median_s);
  document.data["peak_memory_bytes"] = memory;
  document.data["arena_bytes"] = executable.arena_bytes();
  document.data["state_bytes"] = executable.state_bytes();
  document.data["compile_s"] = measured.compile_s;
  if (measured.processor) add_processor(document, device->info().name, *measured.processor);
  if (!flags.reference && !flags.train) add_slow_notice(document, executable, measured.profile);
  add_host_nodes(document, executable);
  if (flags.explain) add_explanation(document, executable);
  if (flags.profile) add_profile(document, executable, measured.profile, peak);
  if (flags.roofline) add_roofline(document, executable, measured.profile, peak);
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_bench(Args& args) {
  auto flags = std::make_shared<BenchFlags>();
  flags->model.declare(args, /*required=*/false);
  args.option("--threads", flags->threads, "threads; 0: all cores");
  args.option("--runs", flags->runs, "measured runs");
  args.option("--warmup", flags->warmup, "warm-up runs");
  args.option("--max-iterations", flags->max_iterations, kIterationsHelp);
  args.flag("--train", flags->train, "measure a training step: forward, backward and SGD update");
  args.flag("--machine", flags->machine, "measure the machine's own peak instead");
  args.flag("--profile", flags->profile, "time per node and per kind of operator");
  args.flag("--roofline", flags->roofline,
            "the nodes that hold 80 % of the time beside what this machine could do");
  args.option("--precision", flags->precision, kPrecisionHelp);
  args.flag("--explain", flags->explain, "which kernel computes each node, and why not another");
  args.option("--device", flags->device, kDeviceHelp);
  args.flag("--reference", flags->reference, "reference kernels only, no fusion");
  args.option("--trace", flags->trace, "write a trace for Perfetto to this file");
  args.format(flags->format);
  return [flags](std::ostream& out) { return bench_command(*flags, out); };
}

}  // namespace

extern const Command kBench = {
    .name = "bench",
    .group = "Run",
    .summary = "Measure latency, throughput and share of this machine's peak",
    .examples =
        "  trainyard bench resnet50 --batch 8 --threads 2 --profile\n"
        "  trainyard bench model.onnx --runs 50 --json\n"
        "  trainyard bench bert-base --precision bf16 --roofline\n"
        "  trainyard bench resnet18-cifar --train --batch 64\n"
        "  trainyard bench squeezenet1_0 --device opencl\n"
        "  trainyard bench resnet18-cifar --train --device torch:cpu\n"
        "  trainyard bench --machine\n",
    .setup = setup_bench,
};

}  // namespace trainyard::cli
