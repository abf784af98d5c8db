// `trainyard validate`: predictions against measurements, published or the user's own.
#include "cluster/predict/validate.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "cluster/predict/stacks_yaml.h"
#include "cluster/predict/this_machine.h"
#include "cluster/predict/validation_view.h"
#include "engine/device/device_list.h"
#include "program/command.h"
#include "program/model_argument.h"
#include "studies/calibration/calibration.h"
#include "studies/calibration/this_machine.h"
#include "studies/calibration/this_machine_view.h"

namespace trainyard::cli {
namespace {

// How far apart published figures of one family of networks lie: what a prediction by family could
// reach at best.
void add_spreads(report::ValidationResult& result, const predict::Catalog& catalog) {
  for (const report::ValidationResult::LeftOut& left : result.left_out) {
    if (left.group != predict::Group::kFamily) continue;
    for (const predict::MeasuredTask subject :
         {predict::MeasuredTask::kTraining, predict::MeasuredTask::kInference}) {
      std::vector<predict::Score> scores = left.all;
      std::erase_if(scores, [&](const predict::Score& s) { return s.subject != subject; });
      for (const bool same : {false, true}) {
        result.spreads.push_back({subject, same, predict::family_spread(scores, catalog, same)});
      }
    }
  }
}

struct ValidateOptions {
  std::string measurements;
  bool leave_out = false;
  std::string fit;
  std::string stack;
  bool this_machine = false;
  measure::ThisMachineOptions machine;
  std::string device = "cpu";
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

int validate_command(const ValidateOptions& options, std::ostream& out) {
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  const measure::ThisMachineOptions usual;
  TY_REQUIRE(
      options.this_machine || (options.machine.networks == usual.networks &&
                               options.machine.runs == usual.runs && options.device == "cpu"),
      "--model, --device and --runs are about networks run on this machine, with --this");
  if (options.this_machine) {
    measure::ThisMachineOptions machine = options.machine;
    machine.device = device::open_network_device(options.device);
    const std::vector<measure::MachineRow> rows = measure::validate_this_machine(catalog, machine);
    const predict::Device& device =
        catalog.device(machine.device == nullptr ? std::string(predict::kThisMachine)
                                                 : measure::calibrated_id(machine.device.get(), 0));
    out << report::render(report::this_machine_document(device, rows), options.format);
    return 0;
  }
  const std::vector<predict::Measurement> rows =
      options.measurements.empty()
          ? predict::published_measurements()
          : predict::read_measurements(read_file(options.measurements), options.measurements);
  // Networks are built once each, however many rows name them.
  ModelArgument zoo;
  predict::Networks networks([&](const std::string& name) { return zoo.load(name); });
  // A few rows of one's own start from the catalog's fits; the published rows, which those were
  // fitted to, start from nothing (predict/hierarchy.h).
  const auto start = options.measurements.empty() ? predict::Hierarchy::Start::kRelatives
                                                  : predict::Hierarchy::Start::kCatalog;
  const predict::Validation validation(catalog, networks, rows, start);
  if (!options.stack.empty()) {
    const predict::Stack& stack = catalog.stack(options.stack);
    out << report::render(report::figures_document(stack, validation.figures(stack)),
                          options.format);
    return 0;
  }
  report::ValidationResult result;
  result.excluded = validation.excluded();
  if (!options.fit.empty()) {
    const predict::Catalog fitted = validation.fit();
    write_file(options.fit, predict::stacks_yaml(fitted));
    result.scores = validation.score(fitted);
  } else {
    result.scores = validation.score();
  }
  if (options.leave_out) {
    for (const predict::Group group : predict::kGroups) {
      result.left_out.push_back({group, validation.leave_one_out(group, /*supported=*/false),
                                 validation.leave_one_out(group, /*supported=*/true)});
    }
    result.coverage = validation.coverage();
    add_spreads(result, catalog);
  }
  out << report::render(report::validation_document(result), options.format);
  return 0;
}

Runner setup_validate(Args& args) {
  auto options = std::make_shared<ValidateOptions>();
  // Said on stderr before each run, as some take minutes.
  options->machine.begins = [](const measure::MachineRow& row) {
    std::cerr << fmt::format("running {}, {}, batch {}\n", row.network, row.mode(), row.batch);
  };
  args.option("--measurements", options->measurements,
              "your own CSV file instead of the published rows (docs/measurements.md)");
  args.flag("--leave-one-out", options->leave_out,
            "also score each row with fits that exclude its network, its device and its stack "
            "family (takes minutes)");
  args.option("--fit", options->fit,
              "fit the software stacks to the rows and write them as a catalog file");
  args.option("--stack", options->stack,
              "fit, and show the parameters of one software stack with their uncertainty");
  args.flag("--this", options->this_machine,
            "run networks on this machine and score `--device this` on them (takes minutes)");
  args.renamed("--network", "--model");
  args.repeated("--model", options->machine.networks,
                "with --this: network to run instead of the usual five");
  args.option("--device", options->device,
              "with --this: what runs them: cpu, or a device of libtorch that 'calibrate --device' "
              "measured");
  args.option("--runs", options->machine.runs, "with --this: measured runs per network");
  args.repeated("--catalog", options->catalogs,
                "a YAML file that adds to or overrides the catalog");
  args.format(options->format);
  return [options](std::ostream& out) { return validate_command(*options, out); };
}

}  // namespace

extern const Command kValidate = {
    .name = "validate",
    .group = "Predict",
    .summary = "Score the predictions on published measurements or your own",
    .examples =
        "  trainyard validate\n"
        "  trainyard validate --leave-one-out --format md > docs/results/validation.md\n"
        "  trainyard validate --measurements mine.csv --fit mine.yaml\n"
        "  trainyard validate --stack timm-pytorch-1.12-amp-nhwc\n"
        "  trainyard calibrate && trainyard validate --this\n"
        "  trainyard calibrate --device torch:cuda && trainyard validate --this --device "
        "torch:cuda\n",
    .setup = setup_validate,
};

}  // namespace trainyard::cli
