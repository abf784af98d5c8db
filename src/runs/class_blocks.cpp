#include "runs/class_blocks.h"

#include <algorithm>

#include <fmt/format.h>

namespace trainyard::report {
namespace {

constexpr size_t kShownClasses = 20;

std::vector<std::string> names_of(const Confusion& confusion) {
  std::vector<std::string> names;
  for (const ClassCounts& c : confusion.classes()) names.push_back(c.name);
  return names;
}

Table recall_table(std::span<const TestedRun> runs) {
  std::vector<Column> columns = {{"recall of", Align::kLeft}};
  for (const TestedRun& run : runs) columns.push_back({run.name});
  Table table(std::move(columns));
  for (size_t c = 0; c < runs[0].confusion.size(); ++c) {
    std::vector<Cell> row = {runs[0].confusion.classes()[c].name};
    for (const TestedRun& run : runs) {
      const ClassCounts& counts = run.confusion.classes()[c];
      row.push_back(part_cell(counts.correct, counts.images));
    }
    table.add_row(std::move(row));
  }
  return table;
}

void add_at_length(const Confusion& confusion, std::vector<Block>& blocks) {
  if (confusion.size() > kShownClasses) {
    blocks.emplace_back(Paragraph{fmt::format("The {} classes of {} with the lowest recall.",
                                              kShownClasses, confusion.size())});
  }
  blocks.emplace_back(confusion.classes_table(kShownClasses));
  if (Table pairs = confusion.confused_table(); pairs.num_rows() > 0) {
    blocks.emplace_back(Paragraph{"Taken for another most often:"});
    blocks.emplace_back(std::move(pairs));
  }
}

}  // namespace

std::vector<Block> class_blocks(std::span<const TestedRun> runs) {
  std::vector<Block> blocks;
  if (runs.empty()) return blocks;
  blocks.emplace_back(Heading{"Classes in the last test"});
  for (const TestedRun& run : runs) {
    if (run.confusion.is_wide()) continue;
    blocks.emplace_back(
        run.confusion.mistakes_chart(fmt::format("Mistakes of {} in the last test", run.name)));
  }
  const auto same_classes = [&](const TestedRun& run) {
    return names_of(run.confusion) == names_of(runs[0].confusion);
  };
  if (runs.size() == 1) {
    add_at_length(runs[0].confusion, blocks);
  } else if (!runs[0].confusion.is_wide() && std::ranges::all_of(runs, same_classes)) {
    blocks.emplace_back(recall_table(runs));
  }
  // Wide matrices of different classes leave nothing below the heading.
  if (blocks.size() == 1) blocks.clear();
  return blocks;
}

}  // namespace trainyard::report
