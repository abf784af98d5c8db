#include "report/validation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "base/text.h"

namespace trainyard::report {
namespace {

using predict::Score;
using predict::Subject;
using predict::Summary;

constexpr size_t kWorstRows = 15;
using predict::kSubjects;

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
  const Summary s = predict::summarize(scores);
  table.add_row({name, count_cell(s.rows), percent_cell(s.mape), signed_percent(s.bias),
                 percent_cell(s.paleo_mape), signed_percent(s.paleo_bias)});
  list.push_back(Json::object({{"group", name},
                               {"rows", s.rows},
                               {"mape", s.mape * 100},
                               {"bias", s.bias * 100},
                               {"paleo_mape", s.paleo_mape * 100},
                               {"paleo_bias", s.paleo_bias * 100}}));
}

std::vector<Score> with_matrix_units(std::vector<Score> scores, bool matrix_units) {
  std::erase_if(scores, [&](const Score& s) { return s.matrix_units != matrix_units; });
  return scores;
}

// All rows, then those on GPUs with matrix units (since 2017) and on what came before.
void add_by_age(Table& table, Json& list, const std::string& name, std::vector<Score> scores) {
  add_summary(table, list, name, scores);
  add_summary(table, list, name + "; GPUs with matrix units", with_matrix_units(scores, true));
  add_summary(table, list, name + "; other devices", with_matrix_units(scores, false));
}

// In-sample rows first, then the same with a network, device or stack left out of the fit: the gap
// between them is what the fit owes to having seen the rows.
void add_overview(const ValidationResult& result, Document& document) {
  Table table(summary_columns("what"));
  Json list = Json::array();
  for (const Subject subject : kSubjects) {
    add_by_age(table, list, std::string(predict::subject_name(subject)),
               of_subject(result.scores, subject));
  }
  for (const ValidationResult::LeftOut& left : result.left_out) {
    for (const Subject subject : {Subject::kTraining, Subject::kInference}) {
      const std::string name = fmt::format("{}, {} left out", predict::subject_name(subject),
                                           predict::group_name(left.group));
      add_by_age(table, list, name, of_subject(left.all, subject));
      add_by_age(table, list,
                 name + (left.group == predict::Group::kFamily ? ", precision measured elsewhere"
                                                               : ", stack measured elsewhere"),
                 of_subject(left.supported, subject));
    }
  }
  document.blocks.emplace_back(std::move(table));
  document.data["overview"] = std::move(list);
}

// PALEO's mean error if each stack had one factor of its own fitted to these rows (the median of
// measured / predicted): as in-sample as our first rows are.
double rescaled_paleo_mape(std::span<const Score> scores) {
  std::map<std::string, std::vector<double>> ratios;
  for (const Score& score : scores) {
    ratios[score.row->framework].push_back(score.measured / score.paleo);
  }
  for (auto& [stack, values] : ratios) std::sort(values.begin(), values.end());
  double sum = 0;
  for (const Score& score : scores) {
    const std::vector<double>& values = ratios[score.row->framework];
    const double factor = values[values.size() / 2];
    sum += std::fabs(score.paleo * factor / score.measured - 1);
  }
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

// How far the figures above may be trusted.
void add_caveats(const ValidationResult& result, Document& document) {
  std::vector<std::string> caveats = {
      "Rows without \"left out\" are in-sample: the figures, and the shares of links for scaling, "
      "were fitted to these same rows. For scaling there is no score with rows left out."};
  caveats.push_back(fmt::format(
      "PALEO was not fitted to these rows: its shares of peak are those of its paper, and those of "
      "the nearest stack where the paper has none; it knows no matrix units. With one factor per "
      "stack fitted to these rows its error would be {:.1f} % for training on one device and "
      "{:.1f} % for inference.",
      rescaled_paleo_mape(of_subject(result.scores, Subject::kTraining)) * 100,
      rescaled_paleo_mape(of_subject(result.scores, Subject::kInference)) * 100));
  if (!result.left_out.empty()) {
    caveats.emplace_back(
        "Leaving out concerns the fitted figures only. The form of the model, its fixed constants "
        "and the priors were chosen with all rows in view, so these scores are better than those "
        "of a network, device or stack that the fit has not seen. \"Stack measured elsewhere\" "
        "leaves away rows whose stack has no row outside of what was left out: only its relatives "
        "are known. \"Precision measured elsewhere\" leaves away rows for which no other family "
        "has rows of the same precision and mode on the same class of device (CPU or GPU): "
        "fp64, int8 and CPUs, each of one family alone. Fits without a group start from the fit to "
        "all rows, from which the group's are taken away as if it were linear, and take two more "
        "iterations.");
  }
  for (const std::string& caveat : caveats) document.blocks.emplace_back(Paragraph{caveat});
  document.data["caveats"] = Json::array_of(caveats);
}

// Every row as a point; on the line the prediction is right.
Chart chart_of(const ValidationResult& result) {
  Chart chart{.kind = ChartKind::kScatter,
              .title = "Predicted against measured",
              .x = {.name = "measured images/s", .log = true},
              .y = {.name = "predicted images/s", .log = true},
              .caption = "Each point is a published measurement."};
  double low = 1e300;
  double high = 0;
  std::map<std::string, Series> kinds;
  for (const Score& score : result.scores) {
    const std::string name = score.kind.empty() ? "not named" : score.kind;
    Series& series = kinds.try_emplace(name, Series{name, Origin::kMeasured, {}}).first->second;
    series.points.push_back({score.measured, score.predicted});
    low = std::min(low, score.measured);
    high = std::max(high, score.measured);
  }
  for (auto& [name, series] : kinds) chart.series.push_back(std::move(series));
  chart.series.push_back({"exact", Origin::kIdeal, {{low, low}, {high, high}}});
  return chart;
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

// "published/a.csv:12" -> "a.csv".
std::string file_of(const Score& score) {
  const std::string& origin = score.row->origin;
  const std::string path = origin.substr(0, origin.rfind(':'));
  return path.substr(path.rfind('/') + 1);
}

// Letters keep the ranges in order where groups are sorted by name.
std::string batch_range(const Score& score) {
  const int64_t batch = score.row->batch_per_gpu;
  if (batch <= 4) return "a) 1 to 4";
  if (batch <= 16) return "b) 5 to 16";
  if (batch <= 64) return "c) 17 to 64";
  return batch <= 256 ? "d) 65 to 256" : "e) over 256";
}

using KeyOf = std::function<std::string(const Score&)>;

void add_groups(const ValidationResult& result, const std::string& title, const std::string& key,
                const KeyOf& key_of, Document& document) {
  document.data[key] = Json::object();
  for (const Subject subject : kSubjects) {
    std::map<std::string, std::vector<Score>> groups;
    for (const Score& score : of_subject(result.scores, subject)) {
      groups[key_of(score)].push_back(score);
    }
    if (groups.empty()) continue;
    Table table(summary_columns(key));
    Json list = Json::array();
    for (const auto& [name, scores] : groups) add_summary(table, list, name, scores);
    document.blocks.emplace_back(
        Heading{fmt::format("{}: {}", title, predict::subject_name(subject))});
    document.blocks.emplace_back(std::move(table));
    document.data[key][predict::subject_name(subject)] = std::move(list);
  }
}

// What was left out, one by one.
void add_left_out(const ValidationResult& result, Document& document) {
  const std::map<predict::Group, KeyOf> keys = {
      {predict::Group::kNetwork, [](const Score& s) { return s.row->model; }},
      {predict::Group::kDevice, [](const Score& s) { return s.row->device; }},
      {predict::Group::kFamily, [](const Score& s) { return s.family; }}};
  for (const ValidationResult::LeftOut& left : result.left_out) {
    const auto key = keys.find(left.group);
    if (key == keys.end()) continue;
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

Json score_json(const Score& score) {
  const predict::Measurement& row = *score.row;
  return Json::object({{"origin", row.origin},
                       {"framework", row.framework},
                       {"device", row.device},
                       {"gpus", row.gpus},
                       {"model", row.model},
                       {"batch_per_gpu", row.batch_per_gpu},
                       {"precision", predict::precision_name(row.precision)},
                       {"subject", predict::subject_name(score.subject)},
                       {"measured", score.measured},
                       {"predicted", score.predicted},
                       {"paleo", score.paleo},
                       {"error", score.error() * 100},
                       {"paleo_error", score.paleo_error() * 100},
                       {"bound", score.bound},
                       {"support", score.support}});
}

Table score_table() {
  return Table({{"stack", Align::kLeft},
                {"device", Align::kLeft},
                {"GPUs"},
                {"network", Align::kLeft},
                {"batch"},
                {"type", Align::kLeft},
                {"measured"},
                {"predicted"},
                {"error"},
                {"bound by", Align::kLeft},
                {"rows there"}});
}

void add_score(Table& table, const Score& score) {
  const predict::Measurement& row = *score.row;
  table.add_row({row.framework, row.device, count_cell(row.gpus), row.model,
                 count_cell(row.batch_per_gpu), predict::precision_name(row.precision),
                 fixed_cell(score.measured, 1), fixed_cell(score.predicted, 1),
                 signed_percent(score.error()), score.bound, count_cell(score.support)});
}

// By the logarithm: half and twice the measured speed are equally wrong.
void add_worst(const ValidationResult& result, Document& document) {
  for (const Subject subject : kSubjects) {
    std::vector<Score> scores = of_subject(result.scores, subject);
    if (scores.empty()) continue;
    std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
      return std::fabs(std::log(a.predicted / a.measured)) >
             std::fabs(std::log(b.predicted / b.measured));
    });
    Table table = score_table();
    for (size_t i = 0; i < std::min(kWorstRows, scores.size()); ++i) add_score(table, scores[i]);
    document.blocks.emplace_back(
        Heading{fmt::format("Worst rows: {} (images/s)", predict::subject_name(subject))});
    document.blocks.emplace_back(std::move(table));
  }
}

void add_excluded(const ValidationResult& result, Document& document) {
  std::map<std::string, int64_t> reasons;
  for (const predict::Excluded& item : result.excluded) ++reasons[item.reason];
  document.data["excluded"] = Json::array();
  if (reasons.empty()) return;
  Table table({{"rows"}, {"why they are not scored", Align::kLeft}});
  for (const auto& [reason, rows] : reasons) {
    table.add_row({count_cell(rows), reason});
    document.data["excluded"].push_back(Json::object({{"reason", reason}, {"rows", rows}}));
  }
  document.blocks.emplace_back(Heading{"Not scored"});
  document.blocks.emplace_back(std::move(table));
}

}  // namespace

Document validation_document(const ValidationResult& result) {
  Document document;
  document.data = Json::object();
  document.blocks.emplace_back(Heading{"Predictions against published measurements"});
  document.blocks.emplace_back(Paragraph{
      "MAPE is the mean of |predicted / measured - 1|, bias the mean of predicted / measured - 1, "
      "both in images/s. Scaling takes the measured speed of one device as given. PALEO is run "
      "with one GPU's own peak and bandwidth and the platform percent of peak of its paper."});
  add_overview(result, document);
  if (!result.scores.empty()) document.blocks.emplace_back(chart_of(result));
  add_caveats(result, document);
  add_coverage(result, document);
  add_spreads(result, document);
  add_left_out(result, document);
  const std::tuple<std::string, std::string, KeyOf> tables[] = {
      {"By file of catalog/published", "file", file_of},
      {"By family of software stacks", "family", [](const Score& s) { return s.family; }},
      {"By software stack", "stack", [](const Score& s) { return s.row->framework; }},
      {"By device", "device", [](const Score& s) { return s.row->device; }},
      {"By network", "network", [](const Score& s) { return s.row->model; }},
      {"By precision", "precision",
       [](const Score& s) { return std::string(predict::precision_name(s.row->precision)); }},
      {"By batch", "batch", batch_range}};
  for (const auto& [title, key, key_of] : tables) add_groups(result, title, key, key_of, document);
  add_worst(result, document);
  add_excluded(result, document);
  document.data["rows"] = Json::array();
  for (const Score& score : result.scores) document.data["rows"].push_back(score_json(score));
  for (const ValidationResult::LeftOut& left : result.left_out) {
    Json rows = Json::array();
    for (const Score& score : left.all) rows.push_back(score_json(score));
    document.data[fmt::format("rows without {}", predict::group_name(left.group))] =
        std::move(rows);
  }
  return document;
}

Document figures_document(const predict::Stack& stack,
                          std::span<const predict::Validation::Figure> figures) {
  Document document;
  document.data = Json::object({{"stack", stack.id}, {"rows", stack.all_rows()}});
  document.data["figures"] = Json::array();
  document.blocks.emplace_back(Heading{fmt::format("{}: {}", stack.id, stack.name)});
  document.blocks.emplace_back(Paragraph{fmt::format(
      "{} rows of one device. A figure is within its \"give or take\" with two chances in three. "
      "\"From rows\" is how much of what the priors leave open rows have settled, those of "
      "related stacks included.",
      stack.all_rows())});
  Table table(
      {{"figure", Align::kLeft}, {"on", Align::kLeft}, {"value"}, {"give or take"}, {"from rows"}});
  for (const auto& f : figures) {
    table.add_row({f.name, f.device_class, fmt::format("{:.3g}", f.value),
                   percent_cell(f.certainty.deviation), percent_cell(f.certainty.determined)});
    document.data["figures"].push_back(Json::object({{"name", f.name},
                                                     {"class", f.device_class},
                                                     {"value", f.value},
                                                     {"deviation", f.certainty.deviation},
                                                     {"determined", f.certainty.determined}}));
  }
  document.blocks.emplace_back(std::move(table));
  Table rows({{"rows on device / precision", Align::kLeft}, {"rows"}});
  for (const auto& [where, count] : stack.rows) rows.add_row({where, count_cell(count)});
  if (rows.num_rows() > 0) document.blocks.emplace_back(std::move(rows));
  return document;
}

}  // namespace trainyard::report
