#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/text.h"
#include "report/validation_parts.h"

namespace trainyard::report {

using predict::Score;
using predict::Subject;

Cell signed_percent(double share) {
  return {fmt::format("{:+.1f} %", share * 100), fmt::format("{}", share * 100)};
}

std::vector<Score> of_subject(std::span<const Score> scores, Subject subject) {
  std::vector<Score> out;
  std::copy_if(scores.begin(), scores.end(), std::back_inserter(out),
               [subject](const Score& score) { return score.subject == subject; });
  return out;
}

std::vector<Column> summary_columns(std::string first) {
  return {{std::move(first), Align::kLeft},
          {"rows"},
          {"MAPE"},
          {"bias"},
          {"PALEO MAPE"},
          {"PALEO bias"}};
}

void add_summary(Table& table, Json& list, const std::string& name, std::span<const Score> scores) {
  if (scores.empty()) return;
  const predict::Summary s = predict::summarize(scores);
  table.add_row({name, count_cell(s.rows), percent_cell(s.mape), signed_percent(s.bias),
                 percent_cell(s.paleo_mape), signed_percent(s.paleo_bias)});
  list.push_back(Json::object({{"group", name},
                               {"rows", s.rows},
                               {"mape", s.mape * 100},
                               {"bias", s.bias * 100},
                               {"paleo_mape", s.paleo_mape * 100},
                               {"paleo_bias", s.paleo_bias * 100}}));
}

void add_coverage(const ValidationResult& result, Document& document) {
  if (result.coverage.empty()) return;
  Table table({{"left out", Align::kLeft}, {"mode", Align::kLeft}, {"rows"}, {"in the interval"}});
  Json list = Json::array();
  int64_t rows = 0;
  int64_t covered = 0;
  const auto add = [&](const std::string& group, const std::string& mode, int64_t n, int64_t in) {
    const double share = n > 0 ? static_cast<double>(in) / static_cast<double>(n) : 0;
    table.add_row({group, mode, count_cell(n), percent_cell(share)});
    list.push_back(
        Json::object({{"left_out", group}, {"mode", mode}, {"rows", n}, {"covered", in}}));
  };
  for (const auto& c : result.coverage) {
    add(std::string(predict::group_name(c.group)),
        c.mode == predict::Mode::kTraining ? "training" : "inference", c.rows, c.covered);
    rows += c.rows;
    covered += c.covered;
  }
  add("all of these", "both", rows, covered);
  document.blocks.emplace_back(Heading{"How many left-out rows the 80 % intervals contain"});
  document.blocks.emplace_back(
      Paragraph{"GPUs. Each row is looked for in the interval made of the errors of the other "
                "groups' rows."});
  document.blocks.emplace_back(std::move(table));
  document.data["coverage"] = std::move(list);
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

}  // namespace

void add_levels(const ValidationResult& result, Document& document) {
  if (result.left_out.empty()) return;
  Table table({{"left out", Align::kLeft},
               {"mode", Align::kLeft},
               {"groups"},
               {"error"},
               {"by levels alone"},
               {"levels known"},
               {"deviation of the levels"}});
  Json list = Json::array();
  for (const ValidationResult::LeftOut& left : result.left_out) {
    const auto key = group_keys().find(left.group);
    if (key == group_keys().end()) continue;
    for (const Subject subject : {Subject::kTraining, Subject::kInference}) {
      const std::vector<Score> scores = of_subject(left.all, subject);
      const predict::LevelSplit split = predict::level_split(scores, key->second);
      const double error = predict::summarize(scores).mape;
      table.add_row({predict::group_name(left.group), predict::subject_name(subject),
                     count_cell(split.groups), percent_cell(error), percent_cell(split.levels),
                     percent_cell(split.rest), percent_cell(split.deviation)});
      list.push_back(Json::object({{"left_out", predict::group_name(left.group)},
                                   {"subject", predict::subject_name(subject)},
                                   {"groups", split.groups},
                                   {"mape", error * 100},
                                   {"levels", split.levels * 100},
                                   {"rest", split.rest * 100},
                                   {"deviation", split.deviation * 100}}));
    }
  }
  document.blocks.emplace_back(Heading{"What an unknown level costs"});
  document.blocks.emplace_back(Paragraph{
      "The level of a network, device or family is how far its left-out rows are off as a whole. "
      "\"By levels alone\": the error that would remain if everything but the levels were right. "
      "\"Levels known\": the error with one factor for each group, the best for all of its rows; "
      "no measurement of one's own can give more than that. The deviation is that of the levels' "
      "logarithms, each group counting once: what the model leaves unexplained of a group."});
  document.blocks.emplace_back(std::move(table));
  document.data["levels"] = std::move(list);
}

// What was left out, one by one.
void add_left_out(const ValidationResult& result, Document& document) {
  for (const ValidationResult::LeftOut& left : result.left_out) {
    const auto key = group_keys().find(left.group);
    if (key == group_keys().end()) continue;
    const std::string group(predict::group_name(left.group));
    Table table(summary_columns(group + " left out"));
    Json list = Json::array();
    for (const Subject subject : {Subject::kTraining, Subject::kInference}) {
      std::map<std::string, std::vector<Score>> groups;
      for (const Score& score : of_subject(left.all, subject)) {
        groups[key->second(score)].push_back(score);
      }
      for (const auto& [name, scores] : groups) {
        add_summary(table, list, fmt::format("{}, {}", name, predict::subject_name(subject)),
                    scores);
      }
    }
    document.blocks.emplace_back(Heading{fmt::format("Each {} left out", group)});
    document.blocks.emplace_back(std::move(table));
    document.data["without " + group] = std::move(list);
  }
}

void add_spreads(const ValidationResult& result, Document& document) {
  if (result.spreads.empty()) return;
  Table table({{"mode", Align::kLeft},
               {"compared", Align::kLeft},
               {"configurations"},
               {"rows"},
               {"best single speed"},
               {"mean of the others"},
               {"median of that error"},
               {"this model, family left out"}});
  Json list = Json::array();
  for (const auto& [subject, same, spread] : result.spreads) {
    if (spread.rows == 0) continue;
    const std::string_view mode = subject == Subject::kTraining ? "training" : "inference";
    const std::string_view compared = same ? "families with the same properties" : "all families";
    table.add_row({std::string(mode), std::string(compared), count_cell(spread.configurations),
                   count_cell(spread.rows), percent_cell(spread.best), percent_cell(spread.others),
                   percent_cell(spread.others_median), percent_cell(spread.model)});
    list.push_back(Json::object({{"mode", mode},
                                 {"same_properties", same},
                                 {"configurations", spread.configurations},
                                 {"rows", spread.rows},
                                 {"best", spread.best * 100},
                                 {"others", spread.others * 100},
                                 {"others_median", spread.others_median * 100},
                                 {"model", spread.model * 100}}));
  }
  document.blocks.emplace_back(Heading{"What bounds a family that was left out"});
  document.blocks.emplace_back(Paragraph{
      "Rows of configurations (device, network, batch, precision) that two or more "
      "families of stacks were measured on. \"Best single speed\": the mean error of the "
      "one speed per configuration that fits all of its measurements best, chosen with "
      "them in view; no model that does not tell these families apart can do better. "
      "\"Mean of the others\": predicted by the geometric mean of what the other families "
      "measured, without any model. Properties are what the catalog says of a stack's "
      "kernels, all that is known of a family without rows."});
  document.blocks.emplace_back(std::move(table));
  document.data["family_spread"] = std::move(list);
}

}  // namespace trainyard::report
