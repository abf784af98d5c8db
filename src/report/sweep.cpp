#include "report/sweep.h"

#include <fmt/core.h>

namespace trainyard::report {
namespace {

const std::string& name_of(const std::vector<std::string>& names, int32_t index) {
  return names[static_cast<size_t>(index)];
}

std::string_view scaling_name(predict::Scaling scaling) {
  return scaling == predict::Scaling::kStrong ? "strong" : "weak";
}

}  // namespace

Document sweep_document(const predict::SweepSpec& spec, std::span<const predict::SweepRow> rows) {
  Document document;
  Table table({{"network", Align::kLeft},
               {"device", Align::kLeft},
               {"workers"},
               {"batch"},
               {"scaling", Align::kLeft},
               {"comm", Align::kLeft},
               {"link", Align::kLeft},
               {"type", Align::kLeft},
               {"step ms"},
               {"images/s"},
               {"training"},
               {"cost $"},
               {"memory"},
               {"fits", Align::kLeft}});
  document.data = Json::object({{"rows", Json::array()}});
  for (const predict::SweepRow& row : rows) {
    const std::string& model = name_of(spec.models, row.model);
    const std::string& device = name_of(spec.devices, row.device);
    const std::string& comm = name_of(spec.comms, row.comm);
    const std::string& named = name_of(spec.links, row.link);
    const std::string link = named.empty() ? "the device's" : named;
    const std::string_view type = predict::precision_name(row.precision);
    const auto memory = static_cast<int64_t>(row.memory_bytes);
    table.add_row({model, device, count_cell(row.workers), count_cell(row.batch),
                   scaling_name(row.scaling), comm, link, type, fixed_cell(row.step * 1e3, 2),
                   fixed_cell(row.images_per_s, 1), seconds_cell(row.train),
                   fixed_cell(row.cost_usd, 2), bytes_cell(memory), row.fits ? "yes" : "no"});
    document.data["rows"].push_back(Json::object({{"model", model},
                                                  {"device", device},
                                                  {"workers", row.workers},
                                                  {"batch", row.batch},
                                                  {"scaling", scaling_name(row.scaling)},
                                                  {"comm", comm},
                                                  {"link", link},
                                                  {"precision", type},
                                                  {"step_ms", row.step * 1e3},
                                                  {"images_per_s", row.images_per_s},
                                                  {"train_s", row.train},
                                                  {"cost_usd", row.cost_usd},
                                                  {"memory_bytes", memory},
                                                  {"fits", row.fits}}));
  }
  document.blocks.emplace_back(std::move(table));
  return document;
}

}  // namespace trainyard::report
