#include "cluster/transformer/target.h"

#include <algorithm>
#include <cmath>

#include "base/csv.h"
#include "base/error.h"
#include "cluster/predict/embedded.h"

namespace trainyard::transformer {
namespace {

CsvTable embedded_table(const std::string& file) {
  return CsvTable::parse(embedded_text(predict::embedded_files(), file), "catalog/" + file);
}

std::vector<Target> read_targets() {
  const CsvTable table = embedded_table("training/targets.csv");
  const CsvTable points = embedded_table("training/samples_to_target.csv");
  std::vector<Target> targets;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    Target target;
    target.model = row.text("model");
    target.what = row.text("what");
    target.filled = row.number("filled");
    target.source = row.text("source");
    for (size_t j = 0; j < points.size(); ++j) {
      if (points.row(j).text("model") != target.model) continue;
      target.points.push_back({points.row(j).number("batch"), points.row(j).number("samples")});
    }
    TY_CHECK(target.points.size() > 1, "{} has no points", target.model);
    std::ranges::sort(target.points, {}, &Target::Point::batch);
    targets.push_back(std::move(target));
  }
  return targets;
}

// The mean time of a step and the fastest mapping that is found.
PublishedRow row_of_target(const TargetRow& target_row, const Target& target) {
  PublishedRow row;
  row.line = target_row.line;
  row.group = target_row.group;
  row.stack = target_stack(target_row.model.name);
  row.round = target_row.round;
  row.model_name = target_row.model.name;
  row.model = target_row.model;
  row.machine = target_row.machine;
  Mapping wanted = target_row.wanted;
  wanted.sequence = static_cast<int64_t>(static_cast<double>(wanted.sequence) * target.filled);
  const Factors& factors = row.stack_of().factors;
  row.mapping = find_plan(row.model, row.machine, factors, wanted, 1).best.front().mapping;
  row.step_seconds = target_row.seconds / steps_to_target(target, wanted.batch);
  return row;
}

}  // namespace

double Target::samples(double batch) const {
  size_t after = 1;
  while (after + 1 < points.size() && points[after].batch < batch) ++after;
  const Point& low = points[after - 1];
  const Point& high = points[after];
  // Smaller batches need no fewer samples than the smallest that was tried.
  if (batch <= low.batch) return low.samples;
  const double slope = std::log(high.samples / low.samples) / std::log(high.batch / low.batch);
  return low.samples * std::pow(batch / low.batch, slope);
}

std::optional<double> Target::critical_batch() const {
  const double fewest = std::ranges::min(points, {}, &Point::samples).samples;
  for (double batch = points.front().batch; batch <= points.back().batch; batch *= 1.01) {
    if (samples(batch) >= 2 * fewest) return batch;
  }
  return std::nullopt;
}

std::span<const Target> known_targets() {
  static const std::vector<Target> targets = read_targets();
  return targets;
}

const Target* find_target(std::string_view model) {
  const auto found = std::ranges::find(known_targets(), model, &Target::model);
  return found == known_targets().end() ? nullptr : &*found;
}

double steps_to_target(const Target& target, int64_t batch) {
  const double size = static_cast<double>(batch);
  return std::ceil(target.samples(size) / size);
}

std::string target_stack(std::string_view model) {
  return fmt::format("mlperf {}", model);
}

std::vector<PublishedRow> rows_of_targets(std::span<const TargetRow> targets,
                                          std::vector<SkippedRow>& skipped) {
  std::vector<PublishedRow> rows;
  for (const TargetRow& one : targets) {
    const Target* target = find_target(one.model.name);
    if (target == nullptr) {
      skipped.push_back({one.line, one.group, "no samples to a target known: " + one.model.name});
      continue;
    }
    try {
      rows.push_back(row_of_target(one, *target));
    } catch (const Error& error) {
      skipped.push_back({one.line, one.group, error.what()});
    }
  }
  return rows;
}

}  // namespace trainyard::transformer
