#include "rl/agents/view.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "report/fields.h"
#include "rl/env/environment.h"

namespace trainyard::cli {

report::Document environments_document() {
  using report::Align;
  report::Document document;
  document.title = "Environments";
  document.data["environments"] = Json::array();
  report::Table table({{"environment", Align::kLeft},
                       {"observation"},
                       {"actions"},
                       {"task", Align::kLeft},
                       {"limit"},
                       {"solved at"},
                       {"", Align::kLeft, 60, "summary"}});
  for (const rl::EnvironmentDef* known : rl::all_environments()) {
    const rl::EnvSpec spec = known->make({}, 1)->spec();
    const bool agreed = !std::isnan(known->threshold);
    table.add_row(
        {known->name, spec.shape.to_string(), report::count_cell(spec.actions),
         spec.continuing ? "continuing" : "episodic",
         spec.time_limit == 0 ? report::Cell("none") : report::count_cell(spec.time_limit),
         agreed ? fmt::format("{}", known->threshold) : "", known->summary});
    document.data["environments"].push_back(
        Json::object({{"name", known->name},
                      {"shape", Json::array_of(spec.shape.vector())},
                      {"actions", spec.actions},
                      {"continuing", spec.continuing},
                      {"time_limit", spec.time_limit},
                      {"threshold", known->threshold},
                      {"summary", known->summary},
                      {"source", known->source}}));
  }
  document.blocks.emplace_back(std::move(table));
  return document;
}

report::Document recordings_document(std::span<const rl::RecordingCheck> checks) {
  using report::Align;
  report::Document document;
  document.title = "Environments against recordings";
  using rl::RecordingCheck;
  const report::Fields<RecordingCheck> fields = {
      {"file", {"file", Align::kLeft}, &RecordingCheck::file},
      {"environment", {"environment", Align::kLeft}, &RecordingCheck::environment},
      {"steps", {"steps"}, &RecordingCheck::steps},
      {"mismatches", {"mismatches"}, &RecordingCheck::mismatches},
      {"worst", {"largest difference"}, &RecordingCheck::worst, [](double worst) {
         return report::Cell(fmt::format("{:.2g}", worst));
       }}};
  int64_t steps = 0;
  int64_t mismatches = 0;
  std::vector<report::Paragraph> notes;
  for (const rl::RecordingCheck& check : checks) {
    steps += check.steps;
    mismatches += check.mismatches;
    if (!check.first.empty()) notes.push_back({fmt::format("{}: {}", check.file, check.first)});
  }
  document.data["mismatches"] = mismatches;
  document.blocks.emplace_back(report::table_of(fields, checks));
  document.data["files"] = report::objects_of(fields, checks);
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} steps checked, {} mismatches.", with_commas(steps), mismatches)});
  for (report::Paragraph& note : notes) document.blocks.emplace_back(std::move(note));
  return document;
}

}  // namespace trainyard::cli
