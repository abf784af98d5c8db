#include "data/table/table_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::data {
namespace {

// More different texts than these are hardly categories; the rarer ones are not told apart.
constexpr size_t kMostValues = 256;
// Whole numbers of which there are no more than these are classes.
constexpr size_t kMostNumberClasses = 10;
constexpr size_t kMostTargetClasses = 4096;
constexpr int64_t kMostWidth = 65536;
constexpr int64_t kMostRows = int64_t{1} << 31;

size_t find_column(const TableText& table, const std::vector<std::string>& names,
                   const std::string& wanted, std::string_view option) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  TY_REQUIRE(found != names.end(), "{}: there is no column '{}' for {}; the columns are {}{}.{}",
             table.origin(), wanted, option,
             join({names.begin(),
                   names.begin() + std::min<ptrdiff_t>(20, static_cast<ptrdiff_t>(names.size()))},
                  ", "),
             names.size() > 20 ? fmt::format(" and {} more", names.size() - 20) : "",
             did_you_mean(wanted, names));
  return static_cast<size_t>(found - names.begin());
}

std::vector<bool> marked(const TableText& table, const std::vector<std::string>& names,
                         const std::vector<std::string>& wanted, std::string_view option) {
  std::vector<bool> marks(names.size());
  for (const std::string& name : wanted) marks[find_column(table, names, name, option)] = true;
  return marks;
}

// Mean and deviation of numbers as they come (Welford).
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;

  void add(double number) {
    ++count;
    const double before = number - mean;
    mean += before / static_cast<double>(count);
    squares += before * (number - mean);
  }
  double std() const { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }
};

// Texts of the target in the order in which they were met, and their places.
struct TargetTexts {
  std::map<std::string, int64_t, std::less<>> places;
  std::vector<int64_t> labels;

  void add(std::string_view cell) {
    auto found = places.find(cell);
    if (found == places.end()) {
      found = places.emplace(cell, static_cast<int64_t>(places.size())).first;
    }
    labels.push_back(found->second);
  }
};

// Numbers by their size, texts by their letters.
bool comes_before(const std::string& a, const std::string& b) {
  const std::optional<double> x = number_of_cell(a);
  const std::optional<double> y = number_of_cell(b);
  if (x && y && *x != *y) return *x < *y;
  return a < b;
}

bool are_few_whole_numbers(const TargetTexts& texts) {
  if (texts.places.size() > kMostNumberClasses) return false;
  return std::all_of(texts.places.begin(), texts.places.end(), [](const auto& place) {
    const std::optional<double> number = number_of_cell(place.first);
    return number && *number == std::floor(*number);
  });
}

void take_classes(const TargetTexts& texts, const std::string& origin, TableSurvey& survey) {
  const std::string& name = survey.names[survey.target];
  const size_t count = texts.places.size();
  TY_REQUIRE(count <= kMostTargetClasses && (count <= 20 || 2 * count <= texts.labels.size()),
             "{}: target column '{}' has {} different values in {} rows, which are no classes",
             origin, name, count, texts.labels.size());
  for (const auto& place : texts.places) survey.classes.push_back(place.first);
  std::sort(survey.classes.begin(), survey.classes.end(), comes_before);
  std::vector<int64_t> label_of(count);
  for (size_t i = 0; i < count; ++i) {
    label_of[static_cast<size_t>(texts.places.at(survey.classes[i]))] = static_cast<int64_t>(i);
  }
  for (const int64_t place : texts.labels) {
    survey.labels.push_back(label_of[static_cast<size_t>(place)]);
  }
}

void take_numbers(const TargetTexts& texts, TableSurvey& survey) {
  std::vector<double> numbers(texts.places.size());
  for (const auto& [cell, place] : texts.places) {
    numbers[static_cast<size_t>(place)] = *number_of_cell(cell);
  }
  for (const int64_t place : texts.labels) {
    survey.numbers.push_back(numbers[static_cast<size_t>(place)]);
  }
}

// What the first text among numbers is, as a column of both is often a slip.
struct ColumnLook {
  int64_t numbers = 0;
  int64_t texts = 0;
  std::string first_text = {};
  std::string place = {};

  void add(std::string_view cell, std::string_view where) {
    if (is_missing_cell(cell)) return;
    if (number_of_cell(cell)) {
      ++numbers;
    } else if (texts++ == 0) {
      first_text = cell;
      place = where;
    }
  }
};

// What training rows show of one column.
struct ColumnFit {
  Moments moments;
  int64_t missing = 0;
  int64_t present = 0;
  std::map<std::string, int64_t, std::less<>> values;

  void add(std::string_view cell, bool is_number, std::string_view place, const std::string& name) {
    if (is_missing_cell(cell)) {
      ++missing;
      return;
    }
    ++present;
    if (is_number) {
      const TableColumn column{.name = name};
      moments.add(static_cast<double>(encode_cell(column, cell, place)));
      return;
    }
    const auto found = values.find(cell);
    if (found != values.end()) {
      ++found->second;
    } else {
      values.emplace(cell, 1);
    }
  }
};

std::optional<TableColumn> number_column(const std::string& name, const ColumnFit& fit,
                                         bool normalize, std::vector<std::string>& notes) {
  const double std = fit.moments.std();
  if (fit.present == 0 || std == 0) {
    notes.push_back(fmt::format("column '{}' is left out: {}", name,
                                fit.present == 0 ? "it is empty" : "it is the same in every row"));
    return std::nullopt;
  }
  // The network divides by it as a number of four bytes.
  if (std < std::numeric_limits<float>::min()) {
    notes.push_back(fmt::format(
        "column '{}' is left out: it changes by {:.3g} alone, too little for numbers of four "
        "bytes; multiply it by something",
        name, std));
    return std::nullopt;
  }
  // float32 has seven digits.
  constexpr double kFine = 1e-5;
  if (std < kFine * std::fabs(fit.moments.mean)) {
    notes.push_back(fmt::format(
        "column '{}' changes by {:.3g} around {:.8g}, which numbers of four bytes hold roughly; "
        "subtract something from it",
        name, std, fit.moments.mean));
  }
  TableColumn column{.name = name, .may_miss = fit.missing > 0};
  if (normalize) {
    column.mean = fit.moments.mean;
    column.std = std;
  }
  return column;
}

std::optional<TableColumn> category_column(const std::string& name, const ColumnFit& fit,
                                           std::vector<std::string>& notes) {
  const auto leave_out = [&](std::string_view why) {
    notes.push_back(fmt::format("column '{}' is left out: {}", name, why));
    return std::nullopt;
  };
  if (fit.present == 0) return leave_out("it is empty");
  if (fit.values.size() == 1 && fit.missing == 0) return leave_out("it is the same in every row");
  const bool many = fit.values.size() > kMostValues;
  if (2 * static_cast<int64_t>(fit.values.size()) > fit.present && fit.values.size() > 20) {
    return leave_out(
        fmt::format("it has {} different texts in {} rows", fit.values.size(), fit.present));
  }
  std::vector<std::pair<int64_t, std::string>> by_count;
  for (const auto& [value, count] : fit.values) by_count.emplace_back(-count, value);
  std::sort(by_count.begin(), by_count.end());
  if (many) {
    notes.push_back(
        fmt::format("column '{}' has {} different texts, of which the {} most frequent "
                    "are told apart",
                    name, fit.values.size(), kMostValues));
    by_count.resize(kMostValues);
  }
  TableColumn column{.name = name, .kind = ColumnKind::kCategory};
  for (auto& [count, value] : by_count) column.values.push_back(std::move(value));
  std::sort(column.values.begin(), column.values.end(), comes_before);
  return column;
}

TableTarget fit_target(const TableSurvey& survey, bool normalize, std::span<const int64_t> rows) {
  TableTarget target{.name = survey.names[survey.target], .classes = survey.classes};
  if (!target.is_number() || !normalize) return target;
  Moments moments;
  for (const int64_t row : rows) moments.add(survey.numbers[static_cast<size_t>(row)]);
  target.mean = moments.mean;
  if (moments.std() > 0) target.std = moments.std();
  return target;
}

}  // namespace

std::vector<std::string> column_names(const TableText& table, std::optional<bool> header) {
  std::vector<std::string> names = table.first_cells();
  if (!header.value_or(table.names_columns())) {
    for (size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("{}", i + 1);
    return names;
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    // pandas writes its row numbers under no name.
    if (names[i].empty()) names[i] = fmt::format("{}", i + 1);
    TY_REQUIRE(seen.insert(names[i]).second, "{}: two columns are called '{}'", table.origin(),
               names[i]);
  }
  return names;
}

void for_each_row(
    const TableText& table, std::optional<bool> header,
    const std::function<void(std::span<const std::string_view>, std::string_view)>& row) {
  CellReader reader(table);
  std::vector<std::string_view> cells;
  if (header.value_or(table.names_columns())) reader.next(cells);
  const size_t expected = table.first_cells().size();
  while (reader.next(cells)) {
    TY_REQUIRE(cells.size() == expected, "{}: {} cells, but the first row has {}", reader.place(),
               cells.size(), expected);
    row(cells, reader.place());
  }
}

TableSurvey survey_table(const TableText& table, const TableOptions& wishes) {
  TableSurvey survey;
  survey.names = column_names(table, wishes.header);
  survey.target = find_column(table, survey.names, wishes.target, "target");
  const std::vector<bool> forced = marked(table, survey.names, wishes.categories, "categories");
  std::vector<ColumnLook> looks(survey.names.size());
  TargetTexts texts;
  for_each_row(table, wishes.header, [&](auto cells, std::string_view place) {
    for (size_t i = 0; i < cells.size(); ++i) looks[i].add(cells[i], place);
    if (is_missing_cell(cells[survey.target])) {
      ++survey.without_target;
    } else {
      texts.add(cells[survey.target]);
    }
  });
  const std::string& name = wishes.target;
  TY_REQUIRE(!texts.labels.empty(), "{}: target column '{}' is empty in all {} rows",
             table.origin(), name, survey.without_target);
  TY_REQUIRE(texts.places.size() > 1,
             "{}: target column '{}' is '{}' in every row, so there is nothing to learn",
             table.origin(), name, texts.places.begin()->first);
  for (size_t i = 0; i < looks.size(); ++i) {
    survey.are_numbers.push_back(looks[i].texts == 0 && !forced[i]);
    if (looks[i].texts > 0 && looks[i].numbers > looks[i].texts) {
      survey.notes.push_back(fmt::format(
          "column '{}' has texts among its numbers, as '{}' ({}), and is taken for categories",
          survey.names[i], looks[i].first_text, looks[i].place));
    }
  }
  const bool numbers = looks[survey.target].texts == 0;
  TY_REQUIRE(wishes.form != TargetForm::kNumber || numbers,
             "{}: target column '{}' is to be a number, but is '{}' ({})", table.origin(), name,
             looks[survey.target].first_text, looks[survey.target].place);
  const bool classes =
      wishes.form == TargetForm::kClasses ||
      (wishes.form == TargetForm::kAny && (!numbers || are_few_whole_numbers(texts)));
  if (classes) {
    take_classes(texts, table.origin(), survey);
  } else {
    take_numbers(texts, survey);
  }
  if (survey.without_target > 0) {
    survey.notes.push_back(
        fmt::format("{} rows without '{}' are left out", with_commas(survey.without_target), name));
  }
  TY_REQUIRE(survey.rows() * static_cast<int64_t>(survey.names.size()) < kMostRows,
             "{}: {} rows of {} columns are more than fit", table.origin(), survey.rows(),
             survey.names.size());
  return survey;
}

TableSchema fit_schema(const TableText& table, const TableSurvey& survey,
                       const TableOptions& wishes, std::span<const int64_t> rows,
                       std::vector<std::string>& notes) {
  std::vector<bool> skipped = marked(table, survey.names, wishes.ignored, "ignore");
  skipped[survey.target] = true;
  std::vector<ColumnFit> fits(survey.names.size());
  int64_t index = 0;
  auto next = rows.begin();
  for_each_row(table, wishes.header, [&](auto cells, std::string_view place) {
    if (is_missing_cell(cells[survey.target])) return;
    if (next == rows.end() || *next != index++) return;
    ++next;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (skipped[i]) continue;
      fits[i].add(cells[i], survey.are_numbers[i], place, survey.names[i]);
    }
  });
  TableSchema schema;
  for (size_t i = 0; i < fits.size(); ++i) {
    if (skipped[i]) continue;
    auto column = survey.are_numbers[i]
                      ? number_column(survey.names[i], fits[i], wishes.normalize, notes)
                      : category_column(survey.names[i], fits[i], notes);
    if (column) schema.columns.push_back(*std::move(column));
  }
  TY_REQUIRE(!schema.columns.empty(), "{}: beside '{}' no column is left to learn from{}{}",
             table.origin(), wishes.target, notes.empty() ? "" : ": ", join(notes, "; "));
  TY_REQUIRE(schema.width() <= kMostWidth,
             "{}: the columns become {} numbers, at most {} are possible; leave some out with "
             "ignore=COLUMN+COLUMN",
             table.origin(), schema.width(), kMostWidth);
  schema.target = fit_target(survey, wishes.normalize, rows);
  return schema;
}

}  // namespace trainyard::data
