#include "studies/calibration/this_machine.h"

#include "base/error.h"
#include "cluster/predict/networks.h"
#include "cluster/predict/step.h"
#include "cluster/predict/this_machine.h"
#include "engine/kernels/parallel/parallel.h"
#include "models/zoo/model.h"
#include "studies/calibration/calibration.h"
#include "train/network_timing.h"

namespace trainyard::measure {
namespace {

// A batch for training that small pictures and large ones can both have.
std::vector<std::pair<bool, int64_t>> cases_of(const models::ModelDef& model) {
  constexpr int64_t kSmallImage = 64;
  return {{false, 1}, {false, 8}, {true, model.image <= kSmallImage ? 32 : 8}};
}

Graph build(const std::string& network, int64_t batch) {
  models::ModelOptions options;
  options.batch = batch;
  return models::build_model(network, options);
}

// The median is compared; the fastest run is in the data, since on a shared machine the two differ.
void measure_row(int threads, const ThisMachineOptions& wanted, MachineRow& row) {
  const MeasureOptions options{
      .threads = threads, .warmup = 2, .runs = wanted.runs, .device = wanted.device};
  Graph graph = build(row.network, row.batch);
  const Measured measured = row.training ? measure_training(graph, options)
                                         : measure_inference(std::move(graph), options);
  row.measured = static_cast<double>(row.batch) / measured.timing.median_s;
  row.best = static_cast<double>(row.batch) / measured.timing.min_s;
}

}  // namespace

std::vector<MachineRow> validate_this_machine(const predict::Catalog& catalog,
                                              const ThisMachineOptions& options) {
  TY_REQUIRE(options.runs >= 1, "`runs` is {}, expected 1 or more", options.runs);
  const predict::Device& device = catalog.device(
      options.device == nullptr ? std::string(predict::kThisMachine)
                                : calibrated_id(options.device.get(), /*threads=*/0));
  const int threads =
      device.cores > 0 ? static_cast<int>(device.cores) : kernels::available_cores();
  const predict::Stack& stack = catalog.default_stack(device);
  const predict::Roofline roofline(device, stack, predict::Precision::kFp32);
  predict::Networks networks([](const std::string& name) { return build(name, 1); });
  std::vector<std::string> names = options.networks;
  if (names.empty()) names = {"resnet18-cifar", "resnet50", "vgg16", "googlenet", "mobilenet_v2"};
  std::vector<MachineRow> rows;
  for (const std::string& name : names) {
    // First: it refuses names that the zoo does not have.
    const predict::NetworkProfile& profile = networks.get(name).profile;
    for (const auto& [training, batch] : cases_of(*models::find_model(name))) {
      MachineRow row{.network = name, .training = training, .batch = batch};
      if (options.begins) options.begins(row);
      measure_row(threads, options, row);
      const auto size = static_cast<double>(batch);
      const auto mode = training ? predict::Mode::kTraining : predict::Mode::kInference;
      row.predicted = size / predict::predict_step(profile, roofline, size, mode).total();
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace trainyard::measure
