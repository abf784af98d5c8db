// The document of scores.
#include "base/text.h"
#include "cluster/transformer/view.h"
#include "report/fields.h"

namespace trainyard::report {
namespace {

using transformer::MemoryScore;
using transformer::Score;
using transformer::ScoredRow;
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

Fields<ScoredRow> row_fields() {
  const auto of = [](auto member) {
    return [member](const ScoredRow& one) { return (*one.row).*member; };
  };
  const auto mapping = [](auto member) {
    return [member](const ScoredRow& one) { return one.row->mapping.*member; };
  };
  using transformer::Mapping;
  using transformer::PublishedRow;
  return {{"line", [](const ScoredRow& one) { return static_cast<int64_t>(one.row->line); }},
          {"source", of(&PublishedRow::group)},
          {"stack", of(&PublishedRow::stack)},
          {"device", [](const ScoredRow& one) { return one.row->machine.id; }},
          {"devices", mapping(&Mapping::workers)},
          {"model", [](const ScoredRow& one) { return one.row->model.name; }},
          {"sequence", mapping(&Mapping::sequence)},
          {"batch", mapping(&Mapping::batch)},
          {"precision",
           [](const ScoredRow& one) {
             return std::string(transformer::number_name(one.row->mapping.number));
           }},
          {"mapping", [](const ScoredRow& one) { return one.row->mapping.text(); }},
          {"published_s", of(&PublishedRow::step_seconds)},
          {"predicted_s", &ScoredRow::seconds},
          {"low_s", [](const ScoredRow& one) { return one.seconds / one.interval.high; }},
          {"high_s", [](const ScoredRow& one) { return one.seconds / one.interval.low; }},
          {"inside", &ScoredRow::inside}};
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
                                {"rows", objects_of(row_fields(), scores.rows)},
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

}  // namespace trainyard::report
