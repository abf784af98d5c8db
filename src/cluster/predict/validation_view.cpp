#include "cluster/predict/validation_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "base/text.h"
#include "cluster/predict/validation_view_parts.h"

namespace trainyard::report {
namespace {

using predict::MeasuredTask;
using predict::Score;

constexpr size_t kWorstRows = 15;
using predict::kSubjects;

std::vector<Score> with_matrix_units(std::vector<Score> scores, bool matrix_units) {
  std::erase_if(scores, [&](const Score& s) { return s.matrix_units != matrix_units; });
  return scores;
}

// All rows, then those on GPUs with matrix units (since 2017) and on what came before.
void add_by_age(std::vector<GroupSummary>& groups, const std::string& name,
                std::vector<Score> scores) {
  add_summary(groups, name, scores);
  add_summary(groups, name + "; GPUs with matrix units", with_matrix_units(scores, true));
  add_summary(groups, name + "; other devices", with_matrix_units(scores, false));
}

// "12.1 % (9.0 %)": mean and median of the errors.
std::string mean_and_median(std::span<const Score> scores) {
  if (scores.empty()) return "-";
  std::vector<double> errors;
  for (const Score& score : scores) errors.push_back(std::fabs(score.error()));
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return fmt::format("{:.1f} % ({:.1f} %)", predict::summarize(scores).mape * 100, *middle * 100);
}

// What most readers come for, in three lines.
void add_short(const ValidationResult& result, Document& document) {
  std::vector<Column> columns = {
      {"mean error (half of the rows are within)", Align::kLeft}, {"rows"}, {"rows fitted to"}};
  for (const ValidationResult::LeftOut& left : result.left_out) {
    if (left.group == predict::Group::kConfiguration) continue;
    columns.push_back({fmt::format("{} left out", predict::group_name(left.group))});
  }
  Table table(std::move(columns));
  for (const MeasuredTask subject :
       {MeasuredTask::kTraining, MeasuredTask::kInference, MeasuredTask::kScaling}) {
    const std::vector<Score> scores = of_subject(result.scores, subject);
    if (scores.empty()) continue;
    std::vector<Cell> cells = {std::string(predict::subject_name(subject)),
                               count_cell(static_cast<int64_t>(scores.size())),
                               mean_and_median(scores)};
    for (const ValidationResult::LeftOut& left : result.left_out) {
      if (left.group == predict::Group::kConfiguration) continue;
      cells.emplace_back(mean_and_median(of_subject(left.all, subject)));
    }
    table.add_row(std::move(cells));
  }
  document.blocks.emplace_back(std::move(table));
}

// In-sample rows first, then the same with a network, device or stack left out of the fit: the gap
// between them is what the fit owes to having seen the rows.
void add_overview(const ValidationResult& result, Document& document) {
  std::vector<GroupSummary> rows;
  for (const MeasuredTask subject : kSubjects) {
    add_by_age(rows, std::string(predict::subject_name(subject)),
               of_subject(result.scores, subject));
  }
  for (const ValidationResult::LeftOut& left : result.left_out) {
    for (const MeasuredTask subject : {MeasuredTask::kTraining, MeasuredTask::kInference}) {
      const std::string name = fmt::format("{}, {} left out", predict::subject_name(subject),
                                           predict::group_name(left.group));
      add_by_age(rows, name, of_subject(left.all, subject));
      add_by_age(rows,
                 name + (left.group == predict::Group::kFamily ? ", precision measured elsewhere"
                                                               : ", stack measured elsewhere"),
                 of_subject(left.supported, subject));
    }
  }
  document.blocks.emplace_back(table_of(summary_fields("what"), rows));
  document.data["overview"] = objects_of(summary_fields("what"), rows);
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
      rescaled_paleo_mape(of_subject(result.scores, MeasuredTask::kTraining)) * 100,
      rescaled_paleo_mape(of_subject(result.scores, MeasuredTask::kInference)) * 100));
  if (!result.left_out.empty()) {
    caveats.emplace_back(
        "Leaving out concerns the fitted figures only. The form of the model, its fixed constants "
        "and the priors were chosen with all rows in view, so these scores are better than those "
        "of a network, device or stack that the fit has not seen. \"Stack measured elsewhere\" "
        "leaves away rows whose stack has no row outside of what was left out: only its relatives "
        "are known. \"Precision measured elsewhere\" leaves away rows for which no other family "
        "has rows of the same precision and mode on the same class of device (CPU or GPU): "
        "fp64, int8 and CPUs, each of one family alone. Fits without a group start from the fit to "
        "all rows, from which the group's are taken away as if it were linear, and go on until the "
        "cost falls by less than a ten thousandth, twelve iterations at most.");
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

void add_groups(const ValidationResult& result, const std::string& title, const std::string& key,
                const KeyOf& key_of, Document& document) {
  document.data[key] = Json::object();
  for (const MeasuredTask subject : kSubjects) {
    std::map<std::string, std::vector<Score>> groups;
    for (const Score& score : of_subject(result.scores, subject)) {
      groups[key_of(score)].push_back(score);
    }
    if (groups.empty()) continue;
    const Fields<GroupSummary> fields = summary_fields(key);
    std::vector<GroupSummary> rows;
    for (const auto& [name, scores] : groups) add_summary(rows, name, scores);
    document.blocks.emplace_back(
        Heading{fmt::format("{}: {}", title, predict::subject_name(subject))});
    document.blocks.emplace_back(table_of(fields, rows));
    document.data[key][predict::subject_name(subject)] = objects_of(fields, rows);
  }
}

Fields<Score> score_fields() {
  // Of the published row.
  const auto row = [](auto member) {
    return [member](const Score& score) { return (*score.row).*member; };
  };
  using predict::Measurement;
  const auto precision = [](const Score& s) { return predict::precision_name(s.row->precision); };
  const auto error = [](const Score& s) { return s.error() * 100; };
  return {{"origin", row(&Measurement::origin)},
          {"framework", {"stack", Align::kLeft}, row(&Measurement::framework)},
          {"device", {"device", Align::kLeft}, row(&Measurement::device)},
          {"gpus", {"GPUs"}, row(&Measurement::gpus)},
          {"model", {"network", Align::kLeft}, row(&Measurement::model)},
          {"batch_per_gpu", {"batch"}, row(&Measurement::batch_per_gpu)},
          {"precision", {"type", Align::kLeft}, precision},
          {"subject", [](const Score& s) { return predict::subject_name(s.subject); }},
          {"measured", {"measured"}, &Score::measured, Fixed{1}},
          {"predicted", {"predicted"}, &Score::predicted, Fixed{1}},
          {"paleo", &Score::paleo},
          {"error", {"error"}, error, [](const Score& s) { return signed_percent(s.error()); }},
          {"paleo_error", [](const Score& s) { return s.paleo_error() * 100; }},
          {"bound", {"bound by", Align::kLeft}, &Score::bound},
          {"support", {"rows there"}, &Score::support}};
}

// By the logarithm: half and twice the measured speed are equally wrong.
void add_worst(const ValidationResult& result, Document& document) {
  for (const MeasuredTask subject : kSubjects) {
    std::vector<Score> scores = of_subject(result.scores, subject);
    if (scores.empty()) continue;
    std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
      return std::fabs(std::log(a.predicted / a.measured)) >
             std::fabs(std::log(b.predicted / b.measured));
    });
    scores.resize(std::min(kWorstRows, scores.size()));
    document.blocks.emplace_back(
        Heading{fmt::format("Worst rows: {} (images/s)", predict::subject_name(subject))});
    document.blocks.emplace_back(table_of(score_fields(), scores));
  }
}

void add_excluded(const ValidationResult& result, Document& document) {
  std::map<std::string, int64_t> reasons;
  for (const predict::Excluded& item : result.excluded) ++reasons[item.reason];
  using Reason = std::pair<const std::string, int64_t>;
  const Fields<Reason> fields = {
      {"rows", {"rows"}, &Reason::second},
      {"reason", {"why they are not scored", Align::kLeft}, &Reason::first}};
  document.data["excluded"] = objects_of(fields, reasons);
  if (reasons.empty()) return;
  document.blocks.emplace_back(Heading{"Not scored"});
  document.blocks.emplace_back(table_of(fields, reasons));
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
  add_short(result, document);
  add_overview(result, document);
  if (!result.scores.empty()) document.blocks.emplace_back(chart_of(result));
  add_caveats(result, document);
  add_coverage(result, document);
  add_levels(result, document);
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
  document.data["rows"] = objects_of(score_fields(), result.scores);
  for (const ValidationResult::LeftOut& left : result.left_out) {
    document.data[fmt::format("rows without {}", predict::group_name(left.group))] =
        objects_of(score_fields(), left.all);
  }
  return document;
}

Document figures_document(const predict::Stack& stack,
                          std::span<const predict::Validation::Figure> figures) {
  Document document;
  document.data = Json::object({{"stack", stack.id}, {"rows", stack.all_rows()}});
  document.blocks.emplace_back(Heading{fmt::format("{}: {}", stack.id, stack.name)});
  document.blocks.emplace_back(Paragraph{fmt::format(
      "{} rows of one device. A figure is within its \"give or take\" with two chances in three. "
      "\"From rows\" is how much of what the priors leave open rows have settled, those of "
      "related stacks included.",
      stack.all_rows())});
  using FitUncertainty = predict::HierarchicalFit::FitUncertainty;
  using Figure = predict::Validation::Figure;
  const auto value = [](const Figure& f) { return Cell(fmt::format("{:.3g}", f.value)); };
  const Fields<FitUncertainty> certainty = {
      {"deviation", {"give or take"}, &FitUncertainty::deviation, Percent()},
      {"determined", {"from rows"}, &FitUncertainty::determined, Percent()}};
  const Fields<Figure> fields =
      joined<Figure>({{"name", {"figure", Align::kLeft}, &Figure::name},
                      {"class", {"on", Align::kLeft}, &Figure::device_class},
                      {"value", {"value"}, &Figure::value, value}},
                     of_part<Figure>(certainty, &Figure::certainty));
  document.blocks.emplace_back(table_of(fields, figures));
  document.data["figures"] = objects_of(fields, figures);
  Table rows({{"rows on device / precision", Align::kLeft}, {"rows"}});
  for (const auto& [where, count] : stack.rows) rows.add_row({where, count_cell(count)});
  if (rows.num_rows() > 0) document.blocks.emplace_back(std::move(rows));
  return document;
}

}  // namespace trainyard::report
