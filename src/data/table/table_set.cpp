#include "data/table/table_set.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"
#include "data/subsets.h"
#include "data/table/cell_reader.h"
#include "data/table/table_fit.h"
#include "data/unpack.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

constexpr double kUsualTestShare = 0.2;

struct TablePlan {
  TableOptions wishes;
  fs::path test_file = {};  // empty: a share of the rows
  double test_share = kUsualTestShare;
  uint64_t seed = 1;
};

bool yes_or_no(const Spec& spec, const Option& option) {
  TY_REQUIRE(option.value == "yes" || option.value == "no", "{} is '{}', expected yes or no",
             spec.what(option.key), option.value);
  return option.value == "yes";
}

TargetForm parse_form(const Spec& spec, const std::string& value) {
  if (value == "classes") return TargetForm::kClasses;
  TY_REQUIRE(value == "number", "{} is '{}', expected classes or number", spec.what("task"), value);
  return TargetForm::kNumber;
}

TablePlan read_plan(const Spec& spec) {
  allow_options(spec,
                {"target", "test", "seed", "task", "categories", "ignore", "header", "normalize"});
  TablePlan plan;
  for (const Option& option : spec.options) {
    if (option.key == "target") plan.wishes.target = option.value;
    if (option.key == "task") plan.wishes.form = parse_form(spec, option.value);
    if (option.key == "categories") plan.wishes.categories = split(option.value, '+');
    if (option.key == "ignore") plan.wishes.ignored = split(option.value, '+');
    if (option.key == "header") plan.wishes.header = yes_or_no(spec, option);
    if (option.key == "normalize") plan.wishes.normalize = yes_or_no(spec, option);
    if (option.key == "seed") {
      plan.seed = static_cast<uint64_t>(parse_whole(option.value, 0, INT64_MAX, spec.what("seed")));
    }
    if (option.key != "test") continue;
    if (fs::exists(option.value)) {
      plan.test_file = option.value;
    } else {
      plan.test_share =
          parse_real(option.value, 0, 1, spec.what("test (a file that is there, or a share)"));
    }
  }
  TY_REQUIRE(!spec.place.empty(), "data set '{}': say where it is, as csv:FILE,target=COLUMN",
             spec.text);
  TY_REQUIRE(!plan.wishes.target.empty(),
             "data set '{}': say which column is to be foretold, as csv:{},target=COLUMN",
             spec.text, spec.place);
  return plan;
}

// Which cells of a row a schema's columns are.
std::vector<size_t> places_of(const TableText& table, const std::vector<std::string>& names,
                              const TableSchema& schema) {
  std::vector<size_t> places;
  for (const TableColumn& column : schema.columns) {
    const auto found = std::find(names.begin(), names.end(), column.name);
    TY_REQUIRE(found != names.end(), "{}: there is no column '{}', which the network takes.{}",
               table.origin(), column.name, did_you_mean(column.name, names));
    places.push_back(static_cast<size_t>(found - names.begin()));
  }
  return places;
}

void encode_row(std::span<const std::string_view> cells, std::string_view place,
                const TableSchema& schema, std::span<const size_t> places,
                std::vector<float>& out) {
  for (size_t i = 0; i < places.size(); ++i) {
    out.push_back(encode_cell(schema.columns[i], cells[places[i]], place));
  }
}

// The rows of a split with what they are to teach.
struct EncodedTable {
  std::vector<float> rows;
  std::vector<int64_t> labels;  // of classes
  std::vector<float> numbers;
  int64_t left_out = 0;  // without a target
};

void encode_target(std::string_view cell, std::string_view place, const TableTarget& target,
                   EncodedTable& out) {
  if (target.is_number()) {
    out.numbers.push_back(encode_cell({.name = target.name}, cell, place));
    return;
  }
  const auto found = std::find(target.classes.begin(), target.classes.end(), cell);
  TY_REQUIRE(found != target.classes.end(),
             "{}: '{}' of column '{}' is none of the {} classes that the network knows", place,
             cell, target.name, target.classes.size());
  out.labels.push_back(found - target.classes.begin());
}

// `chosen`: of the rows that have a target, ascending; null: all.
EncodedTable encode_table(const TableText& table, std::optional<bool> header,
                          const TableSchema& schema, const std::vector<int64_t>* chosen) {
  const std::vector<std::string> names = column_names(table, header);
  const std::vector<size_t> places = places_of(table, names, schema);
  const auto target = std::find(names.begin(), names.end(), schema.target.name);
  TY_REQUIRE(target != names.end(), "{}: there is no column '{}', which is to be foretold.{}",
             table.origin(), schema.target.name, did_you_mean(schema.target.name, names));
  const auto at = static_cast<size_t>(target - names.begin());
  EncodedTable encoded;
  int64_t index = 0;
  size_t next = 0;
  for_each_row(table, header, [&](auto cells, std::string_view place) {
    if (is_missing_cell(cells[at])) {
      ++encoded.left_out;
      return;
    }
    const int64_t own = index++;
    if (chosen != nullptr) {
      if (next == chosen->size() || (*chosen)[next] != own) return;
      ++next;
    }
    encode_row(cells, place, schema, places, encoded.rows);
    encode_target(cells[at], place, schema.target, encoded);
  });
  return encoded;
}

class TableSet final : public Dataset {
 public:
  TableSet(EncodedTable table, std::shared_ptr<const TableSchema> schema, std::string source,
           std::vector<std::string> notes)
      : Dataset({.shape = {.channels = 1, .height = 1, .width = schema->columns_count()},
                 .class_names = schema->target.classes,
                 .source = std::move(source),
                 .table = schema}),
        columns_(schema->columns.size()),
        data_(std::move(table)),
        notes_(std::move(notes)) {}

  int64_t size() const override { return static_cast<int64_t>(data_.rows.size() / columns_); }
  TargetKind target_kind() const override {
    return table()->target.is_number() ? TargetKind::kNumber : TargetKind::kClass;
  }
  int64_t label(int64_t index) const override {
    return data_.labels.empty() ? kNoLabel : data_.labels[static_cast<size_t>(index)];
  }
  void target(int64_t index, Target& target) const override {
    target.label = label(index);
    if (!data_.numbers.empty()) target.number = data_.numbers[static_cast<size_t>(index)];
  }
  PixelView pixels(int64_t /*index*/, Pixels& /*room*/) const override {
    throw_error("{} has rows of numbers, no pictures", source());
  }
  void read_row(int64_t index, std::span<float> row) const override {
    const auto begin = data_.rows.begin() + index * static_cast<int64_t>(columns_);
    std::copy_n(begin, columns_, row.begin());
  }
  std::span<const std::string> problems() const override { return notes_; }

 private:
  size_t columns_;
  EncodedTable data_;
  std::vector<std::string> notes_;
};

// Classes of rows alone, for hold_out().
class RowClasses final : public Dataset {
 public:
  explicit RowClasses(const TableSurvey& survey, std::string source)
      : Dataset({.shape = {}, .class_names = survey.classes, .source = std::move(source)}),
        survey_(survey) {}

  int64_t size() const override { return survey_.rows(); }
  TargetKind target_kind() const override {
    return survey_.classes.empty() ? TargetKind::kNumber : TargetKind::kClass;
  }
  int64_t label(int64_t index) const override {
    return survey_.classes.empty() ? kNoLabel : survey_.labels[static_cast<size_t>(index)];
  }
  PixelView pixels(int64_t /*index*/, Pixels& /*room*/) const override {
    throw_error("{} has rows of numbers, no pictures", source());
  }

 private:
  const TableSurvey& survey_;
};

std::unique_ptr<Dataset> make_set(const fs::path& file, Split split, EncodedTable table,
                                  std::shared_ptr<const TableSchema> schema,
                                  std::vector<std::string> notes) {
  const auto rows = static_cast<int64_t>(table.rows.size()) / schema->columns_count();
  TY_REQUIRE(rows > 0, "{}: the {} split has no rows", file.string(), split_name(split));
  std::string source = fmt::format(
      "{} ({} split, {} rows of {} columns, '{}' is {})", file.string(), split_name(split),
      with_commas(rows), schema->columns.size(), schema->target.name,
      schema->target.is_number() ? "a number"
                                 : fmt::format("one of {}", schema->target.classes.size()));
  return std::make_unique<TableSet>(std::move(table), std::move(schema), std::move(source),
                                    std::move(notes));
}

std::unique_ptr<Dataset> open_known(const Spec& spec, TablePlan plan, Split split,
                                    std::shared_ptr<const TableSchema> schema) {
  plan.wishes.form = schema->target.is_number() ? TargetForm::kNumber : TargetForm::kClasses;
  TY_REQUIRE(plan.wishes.target == schema->target.name,
             "{} is '{}', but the network foretells '{}'", spec.what("target"), plan.wishes.target,
             schema->target.name);
  const TableText table = TableText::read(spec.place);
  const bool shared = plan.test_file.empty();
  if (shared) {
    const TableSurvey survey = survey_table(table, plan.wishes);
    Parts parts = hold_out(RowClasses(survey, spec.place), plan.test_share, plan.seed);
    const std::vector<int64_t>& own = split == Split::kTrain ? parts.kept : parts.held_out;
    return make_set(spec.place, split, encode_table(table, plan.wishes.header, *schema, &own),
                    schema, {});
  }
  const TableText own = split == Split::kTrain ? table : TableText::read(plan.test_file);
  return make_set(own.origin(), split, encode_table(own, plan.wishes.header, *schema, nullptr),
                  schema, {});
}

}  // namespace

std::unique_ptr<Dataset> open_table(const Spec& spec, Split split,
                                    std::shared_ptr<const TableSchema> known) {
  const TablePlan plan = read_plan(spec);
  if (known != nullptr) return open_known(spec, plan, split, std::move(known));
  const TableText table = TableText::read(spec.place);
  const TableSurvey survey = survey_table(table, plan.wishes);
  std::vector<std::string> notes = survey.notes;
  Parts parts;
  if (plan.test_file.empty()) {
    parts = hold_out(RowClasses(survey, spec.place), plan.test_share, plan.seed);
  } else {
    parts.kept.resize(static_cast<size_t>(survey.rows()));
    std::iota(parts.kept.begin(), parts.kept.end(), int64_t{0});
  }
  auto schema = std::make_shared<const TableSchema>(
      fit_schema(table, survey, plan.wishes, parts.kept, notes));
  if (split == Split::kTest && !plan.test_file.empty()) {
    return open_known(spec, plan, split, std::move(schema));
  }
  const std::vector<int64_t>& own = split == Split::kTrain ? parts.kept : parts.held_out;
  return make_set(spec.place, split, encode_table(table, plan.wishes.header, *schema, &own), schema,
                  std::move(notes));
}

bool names_table(const Spec& spec) {
  return spec.name == "csv" && (spec.place.find(':') == std::string::npos ||
                                std::any_of(spec.options.begin(), spec.options.end(),
                                            [](const Option& o) { return o.key == "target"; }));
}

bool foretells_number(const Spec& spec) {
  const TablePlan plan = read_plan(spec);
  if (plan.wishes.form != TargetForm::kAny) return plan.wishes.form == TargetForm::kNumber;
  return survey_table(TableText::read(spec.place), plan.wishes).classes.empty();
}

Tensor parse_rows(std::string text, std::string origin, const TableSchema& schema) {
  const TableText table(std::move(text), std::move(origin));
  // The first row has the names if it has that of every column, or too many cells for a row.
  const std::vector<std::string>& first = table.first_cells();
  const bool header =
      first.size() != schema.columns.size() ||
      std::all_of(schema.columns.begin(), schema.columns.end(), [&](const TableColumn& column) {
        return std::find(first.begin(), first.end(), column.name) != first.end();
      });
  std::vector<size_t> places(schema.columns.size());
  if (header) {
    places = places_of(table, column_names(table, true), schema);
  } else {
    std::iota(places.begin(), places.end(), size_t{0});
  }
  std::vector<float> numbers;
  for_each_row(table, header, [&](auto cells, std::string_view place) {
    encode_row(cells, place, schema, places, numbers);
  });
  TY_REQUIRE(!numbers.empty(), "{}: there are no rows", table.origin());
  Tensor rows(DType::kF32, Shape{static_cast<int64_t>(numbers.size()) / schema.columns_count(),
                                 schema.columns_count()});
  std::copy(numbers.begin(), numbers.end(), rows.values<float>().begin());
  return rows;
}

Tensor read_rows(const fs::path& file, const TableSchema& schema) {
  return parse_rows(read_unpacked(file), file.string(), schema);
}

bool is_table_file(std::string_view file) {
  std::filesystem::path path(file);
  if (is_packed_name(path)) path = path.stem();
  return path.extension() == ".csv" || path.extension() == ".tsv";
}

}  // namespace trainyard::data
