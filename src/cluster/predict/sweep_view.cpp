#include "cluster/predict/sweep_view.h"

#include "report/fields.h"

namespace trainyard::report {
namespace {

const std::string& name_of(const std::vector<std::string>& names, int32_t index) {
  return names[static_cast<size_t>(index)];
}

std::string_view scaling_name(predict::Scaling scaling) {
  return scaling == predict::Scaling::kStrong ? "strong" : "weak";
}

Fields<predict::SweepRow> sweep_fields(const predict::SweepSpec& spec) {
  using predict::SweepRow;
  const auto link = [&spec](const SweepRow& row) {
    const std::string& named = name_of(spec.links, row.link);
    return named.empty() ? "the device's" : named;
  };
  const auto memory = [](const SweepRow& row) { return static_cast<int64_t>(row.memory_bytes); };
  return {{"model",
           {"network", Align::kLeft},
           [&spec](const SweepRow& row) { return name_of(spec.models, row.model); }},
          {"device",
           {"device", Align::kLeft},
           [&spec](const SweepRow& row) { return name_of(spec.devices, row.device); }},
          {"workers", {"workers"}, &SweepRow::workers},
          {"batch", {"batch"}, &SweepRow::batch},
          {"scaling",
           {"scaling", Align::kLeft},
           [](const SweepRow& row) { return scaling_name(row.scaling); }},
          {"comm",
           {"comm", Align::kLeft},
           [&spec](const SweepRow& row) { return name_of(spec.comms, row.comm); }},
          {"link", {"link", Align::kLeft}, link},
          {"precision",
           {"type", Align::kLeft},
           [](const SweepRow& row) { return predict::precision_name(row.precision); }},
          {"step_ms", {"step ms"}, scaled(&SweepRow::step, 1e3), Fixed{2}},
          {"images_per_s", {"images/s"}, &SweepRow::images_per_s, Fixed{1}},
          {"train_s", {"training"}, &SweepRow::train, seconds_cell},
          {"cost_usd", {"cost $"}, &SweepRow::cost_usd, Fixed{2}},
          {"memory_bytes", {"memory"}, memory, bytes_cell},
          {"fits", {"fits", Align::kLeft}, &SweepRow::fits}};
}

}  // namespace

Document sweep_document(const predict::SweepSpec& spec, std::span<const predict::SweepRow> rows) {
  const Fields<predict::SweepRow> fields = sweep_fields(spec);
  Document document;
  document.data = Json::object({{"rows", objects_of(fields, rows)}});
  document.blocks.emplace_back(table_of(fields, rows));
  return document;
}

}  // namespace trainyard::report
