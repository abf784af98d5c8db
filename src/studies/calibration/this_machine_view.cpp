#include "studies/calibration/this_machine_view.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace trainyard::report {
namespace {

using measure::MachineRow;

// Of rows of one mode, or of all.
double mean_error(std::span<const MachineRow> rows, std::optional<bool> training) {
  double sum = 0;
  double count = 0;
  for (const MachineRow& row : rows) {
    if (training && row.training != *training) continue;
    sum += std::fabs(row.error());
    count += 1;
  }
  return sum / count;
}

}  // namespace

Document this_machine_document(const predict::Device& device, std::span<const MachineRow> rows) {
  Document document;
  Table table({{"network", Align::kLeft},
               {"mode", Align::kLeft},
               {"batch"},
               {"measured images/s"},
               {"predicted"},
               {"error"}});
  document.data["rows"] = Json::array();
  for (const MachineRow& row : rows) {
    table.add_row({row.network, row.mode(), count_cell(row.batch), fixed_cell(row.measured, 2),
                   fixed_cell(row.predicted, 2), percent_cell(row.error())});
    document.data["rows"].push_back(Json::object({{"network", row.network},
                                                  {"mode", row.mode()},
                                                  {"batch", row.batch},
                                                  {"measured_images_per_s", row.measured},
                                                  {"fastest_images_per_s", row.best},
                                                  {"predicted_images_per_s", row.predicted},
                                                  {"error", row.error()}}));
  }
  document.blocks.emplace_back(Heading{"This machine: " + device.name});
  document.blocks.emplace_back(Paragraph{device.source});
  document.blocks.emplace_back(std::move(table));
  const double all = mean_error(rows, std::nullopt);
  const double inference = mean_error(rows, false);
  const double training = mean_error(rows, true);
  document.blocks.emplace_back(Paragraph{
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

}  // namespace trainyard::report
