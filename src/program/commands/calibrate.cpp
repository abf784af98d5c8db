// `trainyard calibrate`: measures this machine for `--device this`.
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "cluster/predict/calibration_view.h"
#include "cluster/predict/catalog.h"
#include "cluster/predict/this_machine.h"
#include "engine/device/device_list.h"
#include "program/command.h"
#include "program/progress_line.h"
#include "studies/calibration/calibration.h"
#include "train/execution_view.h"

namespace trainyard::cli {
namespace {

constexpr double kLongest = 86'400;

struct CalibrateOptions {
  int64_t threads = 0;
  std::string device = "cpu";
  double seconds = 70;
  std::string output;
  bool quick = false;
  report::Format format = report::Format::kText;
};

// The folder is made before anything is measured, so that a minute of measuring is not lost.
std::filesystem::path target(const CalibrateOptions& options, std::string_view device) {
  if (!options.output.empty()) return options.output;
  const std::filesystem::path folder = predict::user_catalog_folder();
  TY_REQUIRE(!folder.empty(),
             "HOME is not set, so there is no place for the profile; name a file "
             "with --output");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw_failure("cannot make folder {}: {}", folder.string(), failed.message());
  return folder / fmt::format("{}.yaml", device);
}

// Of libtorch's devices a product of matrices and a sum, which is all that can be asked of them.
void add_peaks(const measure::Calibration& calibration, report::Table& table, Json& data) {
  const predict::Device& device = calibration.device;
  const double gflops = device.fp32 / 1e9;
  const double gb_per_s = device.bytes_per_s / 1e9;
  data["device"] = device.id;
  data["gflops"] = gflops;
  data["memory_gb_per_s"] = gb_per_s;
  const std::string speed = fmt::format("{:.1f} GFLOP/s", gflops);
  const std::string traffic = fmt::format("{:.1f} GB/s", gb_per_s);
  if (calibration.peak.gflops == 0) {
    table.add_row({"product of matrices", speed});
    table.add_row({"memory, read and written", traffic});
    return;
  }
  data["gflops_one_thread"] = calibration.peak.gflops_one_thread;
  table.add_row({"multiply-add peak, 1 thread",
                 fmt::format("{:.1f} GFLOP/s", calibration.peak.gflops_one_thread)});
  table.add_row({fmt::format("multiply-add peak, {} threads", calibration.threads), speed});
  table.add_row({"memory read", traffic});
}

report::Document document_of_calibrate(const measure::Calibration& calibration,
                                       const std::string& path) {
  const predict::MeasuredCosts& costs = *calibration.stack.measured;
  report::Document document;
  report::Table table({{"measured", report::Align::kLeft}, {"value"}});
  document.data = Json::object({{"file", path}, {"threads", calibration.threads}});
  add_peaks(calibration, table, document.data);
  table.add_row({"cache that fits the samples", fmt::format("{:g} MB", costs.cache_bytes / 1e6)});
  Json scaling = Json::array();
  for (const measure::ThreadScaling& item : calibration.scaling) {
    const double speedup = item.seconds_one / item.seconds_all;
    table.add_row({fmt::format("{}: {} threads over 1", item.what, calibration.device.cores),
                   fmt::format("{:.2f}", speedup)});
    scaling.push_back(Json::object({{"what", item.what}, {"speedup", speedup}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(
      report::measured_costs_table(costs, calibration.device, calibration.samples));
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{} samples; written to {}. `--device {}` of predictions now means {}.",
      calibration.samples.size(), path, calibration.device.id, calibration.device.name)});
  document.data["cache_mb"] = costs.cache_bytes / 1e6;
  document.data["thread_scaling"] = std::move(scaling);
  document.data["costs"] = report::measured_costs_json(costs);
  document.data["samples"] = report::samples_json(calibration.samples, costs);
  return document;
}

int calibrate_command(const CalibrateOptions& options, std::ostream& out) {
  TY_REQUIRE(options.seconds > 0 && options.seconds <= kLongest,
             "--seconds is {}, expected more than 0, at most {}", options.seconds, kLongest);
  measure::CalibrationOptions calibration;
  calibration.threads = resolve_threads(options.threads);
  calibration.seconds = options.seconds;
  // Too few samples for a profile; tests use it.
  if (options.quick) calibration.graphs = measure::quick_calibration_graphs();
  if (options.quick) calibration.seconds = std::min(options.seconds, 0.2);
  calibration.device = device::open_network_device(options.device);
  const std::filesystem::path path =
      target(options, measure::calibrated_id(calibration.device.get(), calibration.threads));
  ProgressLine line;
  calibration.progress = [&](double share, std::string_view what) { line.show(share, what); };
  const measure::Calibration result = measure::calibrate(calibration);
  write_file(path, predict::machine_yaml(result.device, result.stack));
  out << report::render(document_of_calibrate(result, path.string()), options.format);
  return 0;
}

Runner setup_calibrate(Args& args) {
  auto options = std::make_shared<CalibrateOptions>();
  args.option("--threads", options->threads,
              "threads; 0: all cores. Fewer threads make a separate device, as this-1");
  args.option(
      "--device", options->device,
      "what to measure: cpu (our engine), or a device of libtorch: torch:cpu, torch:cuda:0");
  args.option("--seconds", options->seconds, "seconds for measured runs, without compiling");
  args.option("--output", options->output,
              "the file to write (default: ~/.config/trainyard/this.yaml, this-1.yaml or "
              "torch-cuda-0.yaml)");
  args.flag("--quick", options->quick, "measure a few tiny graphs only; too rough for predictions");
  args.format(options->format);
  return [options](std::ostream& out) { return calibrate_command(*options, out); };
}

}  // namespace

extern const Command kCalibrate = {
    .name = "calibrate",
    .group = "Predict",
    .summary = "Measure this machine, or its GPU, so that predictions know it",
    .examples =
        "  trainyard calibrate\n"
        "  trainyard predict resnet50 --device this --batch 8 --inference\n"
        "  trainyard calibrate --threads 1\n"
        "  trainyard validate --this\n"
        "  trainyard calibrate --device torch:cuda && trainyard predict resnet50 --device "
        "torch-cuda-0\n",
    .setup = setup_calibrate,
};

}  // namespace trainyard::cli
