#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/text.h"
#include "cluster/predict/validation_view_parts.h"

namespace trainyard::report {

using predict::MeasuredTask;
using predict::Score;

Cell signed_percent(double share) {
  return {fmt::format("{:+.1f} %", share * 100), fmt::format("{}", share * 100)};
}

std::vector<Score> of_subject(std::span<const Score> scores, MeasuredTask subject) {
  std::vector<Score> out;
  std::copy_if(scores.begin(), scores.end(), std::back_inserter(out),
               [subject](const Score& score) { return score.subject == subject; });
  return out;
}

Fields<GroupSummary> summary_fields(std::string first) {
  using predict::Summary;
  const auto signed_field = [](std::string key, std::string title, double Summary::*share) {
    return Field<Summary>(std::move(key), {std::move(title)}, scaled(share, 100),
                          [share](const Summary& s) { return signed_percent(s.*share); });
  };
  const Fields<Summary> figures = {
      {"rows", {"rows"}, &Summary::rows},
      percent_field<Summary>("mape", {"MAPE"}, &Summary::mape),
      signed_field("bias", "bias", &Summary::bias),
      percent_field<Summary>("paleo_mape", {"PALEO MAPE"}, &Summary::paleo_mape),
      signed_field("paleo_bias", "PALEO bias", &Summary::paleo_bias)};
  return joined<GroupSummary>({{"group", {std::move(first), Align::kLeft}, &GroupSummary::name}},
                              of_part<GroupSummary>(figures, &GroupSummary::summary));
}

void add_summary(std::vector<GroupSummary>& groups, const std::string& name,
                 std::span<const Score> scores) {
  if (!scores.empty()) groups.push_back({name, predict::summarize(scores)});
}

void add_coverage(const ValidationResult& result, Document& document) {
  if (result.coverage.empty()) return;
  struct CoverageRow {
    std::string group;
    std::string mode;
    int64_t rows = 0;
    int64_t covered = 0;
  };
  const auto share = [](const CoverageRow& c) {
    return percent_cell(c.rows > 0 ? static_cast<double>(c.covered) / static_cast<double>(c.rows)
                                   : 0);
  };
  const Fields<CoverageRow> fields = {
      {"left_out", {"left out", Align::kLeft}, &CoverageRow::group},
      {"mode", {"mode", Align::kLeft}, &CoverageRow::mode},
      {"rows", {"rows"}, &CoverageRow::rows},
      {"covered", {"in the interval"}, &CoverageRow::covered, share}};
  std::vector<CoverageRow> rows;
  CoverageRow all = {"all of these", "both"};
  for (const auto& c : result.coverage) {
    rows.push_back({std::string(predict::group_name(c.group)),
                    c.mode == predict::Mode::kTraining ? "training" : "inference", c.rows,
                    c.covered});
    all.rows += c.rows;
    all.covered += c.covered;
  }
  rows.push_back(all);
  document.blocks.emplace_back(Heading{"How many left-out rows the 80 % intervals contain"});
  document.blocks.emplace_back(
      Paragraph{"GPUs. Each row is looked for in the interval made of the errors of the other "
                "groups' rows."});
  document.blocks.emplace_back(table_of(fields, rows));
  document.data["coverage"] = objects_of(fields, rows);
}

namespace {

// What the groups of a way of leaving out are.
const std::map<predict::Group, KeyOf>& group_keys() {
  static const std::map<predict::Group, KeyOf> kKeys = {
      {predict::Group::kNetwork, [](const Score& s) { return s.row->model; }},
      {predict::Group::kDevice, [](const Score& s) { return s.row->device; }},
      {predict::Group::kFamily, [](const Score& s) { return s.family; }}};
  return kKeys;
}

struct LevelRow {
  std::string_view left_out;
  std::string_view subject;
  double mape = 0;
  predict::LevelSplit split;
};

Fields<LevelRow> level_fields() {
  using predict::LevelSplit;
  const Fields<LevelSplit> split = {
      percent_field<LevelSplit>("levels", {"by levels alone"}, &LevelSplit::levels),
      percent_field<LevelSplit>("rest", {"levels known"}, &LevelSplit::rest),
      percent_field<LevelSplit>("deviation", {"deviation of the levels"}, &LevelSplit::deviation)};
  return joined<LevelRow>({{"left_out", {"left out", Align::kLeft}, &LevelRow::left_out},
                           {"subject", {"mode", Align::kLeft}, &LevelRow::subject},
                           {"groups", {"groups"}, [](const LevelRow& r) { return r.split.groups; }},
                           percent_field<LevelRow>("mape", {"error"}, &LevelRow::mape)},
                          of_part<LevelRow>(split, &LevelRow::split));
}

// How far families of stacks differ where the same was measured of them.
using SpreadRow = ValidationResult::Spread;

Fields<SpreadRow> spread_fields() {
  using Spread = predict::FamilySpread;
  const auto mode = [](const SpreadRow& row) -> std::string_view {
    return row.subject == MeasuredTask::kTraining ? "training" : "inference";
  };
  const auto compared = [](const SpreadRow& row) -> Cell {
    return row.same_properties ? "families with the same properties" : "all families";
  };
  const Fields<Spread> figures = {
      {"configurations", {"configurations"}, &Spread::configurations},
      {"rows", {"rows"}, &Spread::rows},
      percent_field<Spread>("best", {"best single speed"}, &Spread::best),
      percent_field<Spread>("others", {"mean of the others"}, &Spread::others),
      percent_field<Spread>("others_median", {"median of that error"}, &Spread::others_median),
      percent_field<Spread>("model", {"this model, family left out"}, &Spread::model)};
  return joined<SpreadRow>(
      {{"mode", {"mode", Align::kLeft}, mode},
       {"same_properties", {"compared", Align::kLeft}, &SpreadRow::same_properties, compared}},
      of_part<SpreadRow>(figures, &SpreadRow::spread));
}

}  // namespace

void add_levels(const ValidationResult& result, Document& document) {
  if (result.left_out.empty()) return;
  std::vector<LevelRow> rows;
  for (const ValidationResult::LeftOut& left : result.left_out) {
    const auto key = group_keys().find(left.group);
    if (key == group_keys().end()) continue;
    for (const MeasuredTask subject : {MeasuredTask::kTraining, MeasuredTask::kInference}) {
      const std::vector<Score> scores = of_subject(left.all, subject);
      rows.push_back({predict::group_name(left.group), predict::subject_name(subject),
                      predict::summarize(scores).mape, predict::level_split(scores, key->second)});
    }
  }
  document.blocks.emplace_back(Heading{"What an unknown level costs"});
  document.blocks.emplace_back(Paragraph{
      "The level of a network, device or family is how far its left-out rows are off as a whole. "
      "\"By levels alone\": the error that would remain if everything but the levels were right. "
      "\"Levels known\": the error with one factor for each group, the best for all of its rows; "
      "no measurement of one's own can give more than that. The deviation is that of the levels' "
      "logarithms, each group counting once: what the model leaves unexplained of a group."});
  document.blocks.emplace_back(table_of(level_fields(), rows));
  document.data["levels"] = objects_of(level_fields(), rows);
}

// What was left out, one by one.
void add_left_out(const ValidationResult& result, Document& document) {
  for (const ValidationResult::LeftOut& left : result.left_out) {
    const auto key = group_keys().find(left.group);
    if (key == group_keys().end()) continue;
    const std::string group(predict::group_name(left.group));
    std::vector<GroupSummary> rows;
    for (const MeasuredTask subject : {MeasuredTask::kTraining, MeasuredTask::kInference}) {
      std::map<std::string, std::vector<Score>> groups;
      for (const Score& score : of_subject(left.all, subject)) {
        groups[key->second(score)].push_back(score);
      }
      for (const auto& [name, scores] : groups) {
        add_summary(rows, fmt::format("{}, {}", name, predict::subject_name(subject)), scores);
      }
    }
    document.blocks.emplace_back(Heading{fmt::format("Each {} left out", group)});
    const Fields<GroupSummary> fields = summary_fields(group + " left out");
    document.blocks.emplace_back(table_of(fields, rows));
    document.data["without " + group] = objects_of(fields, rows);
  }
}

void add_spreads(const ValidationResult& result, Document& document) {
  if (result.spreads.empty()) return;
  std::vector<SpreadRow> rows = result.spreads;
  std::erase_if(rows, [](const SpreadRow& row) { return row.spread.rows == 0; });
  document.blocks.emplace_back(Heading{"What bounds a family that was left out"});
  document.blocks.emplace_back(Paragraph{
      "Rows of configurations (device, network, batch, precision) that two or more "
      "families of stacks were measured on. \"Best single speed\": the mean error of the "
      "one speed per configuration that fits all of its measurements best, chosen with "
      "them in view; no model that does not tell these families apart can do better. "
      "\"Mean of the others\": predicted by the geometric mean of what the other families "
      "measured, without any model. Properties are what the catalog says of a stack's "
      "kernels, all that is known of a family without rows."});
  document.blocks.emplace_back(table_of(spread_fields(), rows));
  document.data["family_spread"] = objects_of(spread_fields(), rows);
}

}  // namespace trainyard::report
