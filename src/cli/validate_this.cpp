#include "cli/validate_this.h"

#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "measure/network.h"
#include "models/model.h"
#include "predict/networks.h"
#include "predict/step.h"
#include "predict/this_machine.h"

namespace trainyard::cli {
namespace {

using predict::Mode;

struct Row {
  std::string network;
  Mode mode = Mode::kInference;
  int64_t batch = 1;
  double measured = 0;  // images/s, of the median
  double best = 0;      // of the fastest run
  double predicted = 0;
  double error() const { return predicted / measured - 1; }
};

std::string_view mode_name(Mode mode) {
  return mode == Mode::kTraining ? "training" : "inference";
}

// A batch for training that small pictures and large ones can both have.
std::vector<std::pair<Mode, int64_t>> cases_of(const models::ModelDef& model) {
  constexpr int64_t kSmallImage = 64;
  return {{Mode::kInference, 1},
          {Mode::kInference, 8},
          {Mode::kTraining, model.image <= kSmallImage ? 32 : 8}};
}

Graph build(const std::string& network, int64_t batch) {
  models::ModelOptions options;
  options.batch = batch;
  return models::build_model(network, options);
}

void measure(int threads, int64_t runs, Row& row) {
  const measure::MeasureOptions options{.threads = threads, .warmup = 2, .runs = runs};
  Graph graph = build(row.network, row.batch);
  const measure::Measured measured = row.mode == Mode::kTraining
                                         ? measure::measure_training(graph, options)
                                         : measure::measure_inference(std::move(graph), options);
  row.measured = static_cast<double>(row.batch) / measured.timing.median_s;
  row.best = static_cast<double>(row.batch) / measured.timing.min_s;
}

double mean_error(const std::vector<Row>& rows, Mode mode) {
  double sum = 0;
  double count = 0;
  for (const Row& row : rows) {
    if (row.mode != mode) continue;
    sum += std::fabs(row.error());
    count += 1;
  }
  return sum / count;
}

report::Document document_of(const predict::Device& device, const std::vector<Row>& rows) {
  report::Document document;
  report::Table table({{"network", report::Align::kLeft},
                       {"mode", report::Align::kLeft},
                       {"batch"},
                       {"measured images/s"},
                       {"predicted"},
                       {"error"}});
  document.data["rows"] = Json::array();
  for (const Row& row : rows) {
    table.add_row({row.network, mode_name(row.mode), report::count_cell(row.batch),
                   report::fixed_cell(row.measured, 2), report::fixed_cell(row.predicted, 2),
                   report::percent_cell(row.error())});
    document.data["rows"].push_back(Json::object({{"network", row.network},
                                                  {"mode", mode_name(row.mode)},
                                                  {"batch", row.batch},
                                                  {"measured_images_per_s", row.measured},
                                                  {"fastest_images_per_s", row.best},
                                                  {"predicted_images_per_s", row.predicted},
                                                  {"error", row.error()}}));
  }
  document.blocks.emplace_back(report::Heading{"This machine: " + device.name});
  document.blocks.emplace_back(report::Paragraph{device.source});
  document.blocks.emplace_back(std::move(table));
  const double inference = mean_error(rows, Mode::kInference);
  const double training = mean_error(rows, Mode::kTraining);
  double all = 0;
  for (const Row& row : rows) all += std::fabs(row.error()) / static_cast<double>(rows.size());
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("Mean absolute percentage error: {:.1f} % (inference {:.1f} %, training {:.1f} "
                  "%). None of these networks was in the calibration.",
                  100 * all, 100 * inference, 100 * training)});
  document.data["device"] = device.name;
  document.data["calibrated"] = device.source;
  document.data["mape"] = all;
  document.data["mape_inference"] = inference;
  document.data["mape_training"] = training;
  return document;
}

}  // namespace

report::Document validate_this_machine(const predict::Catalog& catalog,
                                       const ThisMachineOptions& options) {
  TY_REQUIRE(options.runs >= 1, "--runs is {}, expected 1 or more", options.runs);
  const predict::Device& device = catalog.device(predict::kThisMachine);
  const predict::Stack& stack = catalog.default_stack(device);
  const predict::Roofline roofline(device, stack, predict::Precision::kFp32);
  predict::Networks networks([](const std::string& name) { return build(name, 1); });
  std::vector<std::string> names = options.networks;
  if (names.empty()) names = {"resnet18-cifar", "resnet50", "vgg16", "googlenet", "mobilenet_v2"};
  std::vector<Row> rows;
  for (const std::string& name : names) {
    const models::ModelDef* const model = models::find_model(name);
    const predict::NetworkProfile& profile = networks.get(name).profile;
    for (const auto& [mode, batch] : cases_of(*model)) {
      std::cerr << fmt::format("running {}, {}, batch {}\n", name, mode_name(mode), batch);
      Row row{.network = name, .mode = mode, .batch = batch};
      measure(static_cast<int>(device.cores), options.runs, row);
      const auto size = static_cast<double>(batch);
      row.predicted = size / predict::predict_step(profile, roofline, size, mode).total();
      rows.push_back(std::move(row));
    }
  }
  return document_of(device, rows);
}

}  // namespace trainyard::cli
