// The documents of scores and of numbers of devices.
#include "base/text.h"
#include "cluster/transformer/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using transformer::Fleet;
using transformer::MemoryScore;
using transformer::Score;
using transformer::SkippedRow;

Fields<Score> score_fields(bool left_out) {
  Fields<Score> fields = {
      {"source", {"source", Align::kLeft}, &Score::group},
      {"rows", {"rows"}, &Score::rows},
      percent_field<Score>("error_percent", {"mean error"}, &Score::error),
      percent_field<Score>("median_percent", {"median"}, &Score::median),
      percent_field<Score>("constant_percent", {"one utilization"}, &Score::constant),
      percent_field<Score>("inside_percent", {"in 80 %"}, &Score::inside),
      percent_field<Score>("fits_percent", {"said to fit"}, &Score::fits)};
  if (!left_out) return fields;
  const auto show = [](double share) { return percent_cell(share); };
  fields.emplace_back("size_left_out", Column{"size left out"}, &Score::size_left_out, show);
  fields.emplace_back("device_left_out", Column{"device"}, &Score::device_left_out, show);
  fields.emplace_back("generation_left_out", Column{"generation"}, &Score::generation_left_out,
                      show);
  fields.emplace_back("generation_inside", Column{"of it in 80 %"}, &Score::generation_inside,
                      show);
  fields.emplace_back("round_left_out", Column{"round"}, &Score::round_left_out, show);
  return fields;
}

Fields<MemoryScore> memory_fields() {
  return {{"source", {"memory of", Align::kLeft}, &MemoryScore::group},
          {"rows", {"rows"}, &MemoryScore::rows},
          percent_field<MemoryScore>("error_percent", {"mean error"}, &MemoryScore::error),
          percent_field<MemoryScore>("bias_percent", {"bias"}, &MemoryScore::bias),
          percent_field<MemoryScore>("lowest_percent", {"lowest"}, &MemoryScore::lowest),
          percent_field<MemoryScore>("highest_percent", {"highest"}, &MemoryScore::highest)};
}

}  // namespace

Document transformer_scores_document(const TransformerScores& scores) {
  const Fields<SkippedRow> reasons = {
      {"line", {"line"}, [](const SkippedRow& row) { return static_cast<int64_t>(row.line); }},
      {"source", {"source", Align::kLeft}, &SkippedRow::group},
      {"reason", {"skipped because", Align::kLeft}, &SkippedRow::reason}};
  const Fields<Score> fields = score_fields(scores.left_out);
  Document document;
  document.data = Json::object({{"scores", objects_of(fields, scores.speeds)},
                                {"memory", objects_of(memory_fields(), scores.memory)},
                                {"skipped", objects_of(reasons, scores.skipped)}});
  if (!scores.speeds.empty()) document.blocks.emplace_back(table_of(fields, scores.speeds));
  if (!scores.memory.empty()) {
    document.blocks.emplace_back(table_of(memory_fields(), scores.memory));
  }
  document.blocks.emplace_back(Paragraph{
      "Errors are of the time of a step (of MLPerf: of the minutes to the target) and of "
      "the allocator's peak. One utilization: the same with one share of the peak for all "
      "rows of a source, their median. Said to fit: of rows that all ran."});
  if (!scores.skipped.empty()) document.blocks.emplace_back(table_of(reasons, scores.skipped));
  return document;
}

Document transformer_fleet_document(const TransformerQuestion& question,
                                    std::span<const Fleet> fleets) {
  const bool priced = question.errand.usd_per_hour > 0;
  Fields<Fleet> fields = {
      {"workers", {"devices"}, [](const Fleet& one) { return one.best.mapping.workers; }},
      {"mapping",
       {"mapping", Align::kLeft},
       [](const Fleet& one) { return one.best.mapping.text(); }},
      {"step_s", {"step"}, [](const Fleet& one) { return one.best.time.total(); }, seconds_cell},
      {"hours", {"hours"}, [](const Fleet& one) { return one.time.hours; }, Fixed{1}},
      percent_field<Fleet>("goodput_percent", {"goodput"},
                           [](const Fleet& one) { return one.time.goodput.share; }),
      {"good", {"within limits"}, &Fleet::good}};
  if (priced) {
    fields.emplace_back(
        "usd", Column{"US$"}, [](const Fleet& one) { return one.time.usd; }, Fixed{0});
  }
  Document document;
  document.data = Json::object({{"model", Json(question.model.name)},
                                {"device", Json(question.machine.id)},
                                {"tokens", Json(question.errand.tokens)},
                                {"fleets", objects_of(fields, fleets)}});
  const Fleet& best = fleets.front();
  const std::string money =
      priced ? fmt::format(" and ${:.0f}", best.time.usd) : std::string(", at no known price");
  document.blocks.emplace_back(Paragraph{
      best.good
          ? fmt::format("Take {} x {}: {} tokens take {}{}.",
                        with_commas(best.best.mapping.workers), question.machine.id,
                        si(question.errand.tokens), seconds_text(best.time.hours * 3600), money)
          : std::string("Nothing keeps to the limits; the nearest comes first."),
      Tone::kAnswer});
  document.blocks.emplace_back(table_of(fields, fleets));
  return document;
}

}  // namespace trainyard::report
