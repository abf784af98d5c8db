#include "program/table_inspection.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "data/statistics.h"

namespace trainyard::cli {
namespace {

constexpr size_t kShownValues = 8;

std::string values_text(const data::TableColumn& column) {
  const size_t count = std::min(kShownValues, column.values.size());
  std::vector<std::string> shown(column.values.begin(),
                                 column.values.begin() + static_cast<ptrdiff_t>(count));
  if (column.values.size() > count) {
    shown.push_back(fmt::format("and {} more", column.values.size() - count));
  }
  return join(shown, ", ");
}

report::Table columns_table(const data::TableSchema& schema) {
  report::Table table({{"column", report::Align::kLeft, 40},
                       {"kind", report::Align::kLeft},
                       {"mean"},
                       {"std"},
                       {"values", report::Align::kLeft, 60}});
  for (const data::TableColumn& column : schema.columns) {
    if (column.kind == data::ColumnKind::kNumber) {
      table.add_row({column.name, column.may_miss ? "number, some missing" : "number",
                     fmt::format("{:.5g}", column.mean), fmt::format("{:.5g}", column.std), ""});
    } else {
      table.add_row({column.name, "category", "", "", values_text(column)});
    }
  }
  return table;
}

report::Table classes_table(const data::Dataset& set) {
  const std::vector<int64_t> counts = data::measure_statistics(set, 0).class_counts;
  report::Table table({{"class"}, {"name", report::Align::kLeft, 40}, {"rows"}, {"share"}});
  for (size_t i = 0; i < counts.size(); ++i) {
    table.add_row(
        {fmt::format("{}", i), set.class_names()[i], report::count_cell(counts[i]),
         report::percent_cell(static_cast<double>(counts[i]) / static_cast<double>(set.size()))});
  }
  return table;
}

}  // namespace

report::Document table_set_document(const data::Dataset& set) {
  const data::TableSchema& schema = *set.table();
  const auto say = [](std::string text) { return report::Paragraph{std::move(text)}; };
  report::Document document;
  document.blocks.emplace_back(say(
      fmt::format("{}; the network sees {} numbers of each row", set.source(), schema.width())));
  document.blocks.emplace_back(columns_table(schema));
  if (set.target_kind() == data::TargetKind::kClass) {
    document.blocks.emplace_back(classes_table(set));
  } else {
    document.blocks.emplace_back(
        say(fmt::format("'{}' has mean {:.6g} and standard deviation {:.6g}", schema.target.name,
                        schema.target.mean, schema.target.std)));
  }
  for (const std::string& note : set.problems()) document.blocks.emplace_back(say(note));
  document.data = schema.json();
  document.data["source"] = set.source();
  document.data["samples"] = set.size();
  document.data["width"] = schema.width();
  document.data["notes"] = Json::array_of(set.problems());
  return document;
}

}  // namespace trainyard::cli
