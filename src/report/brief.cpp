#include <algorithm>

#include <fmt/format.h>

#include "report/document.h"

namespace trainyard::report {
namespace {

// Enough to see a line, and few enough that the charts of a run leave room for the script that
// draws them.
constexpr size_t kMostPoints = 120;
constexpr size_t kMostRows = 120;
constexpr size_t kEndRows = 50;

// Of each stretch of the series, the points that reach highest and lowest, in their order; the
// first and the last point always.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points) {
  const size_t stretches = kMostPoints / 2 - 1;
  const size_t inner = points.size() - 2;
  std::vector<ChartPoint> kept = {points.front()};
  for (size_t s = 0; s < stretches; ++s) {
    const auto begin = points.begin() + 1 + static_cast<int64_t>(inner * s / stretches);
    const auto end = points.begin() + 1 + static_cast<int64_t>(inner * (s + 1) / stretches);
    const auto [low, high] = std::minmax_element(
        begin, end, [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
    kept.push_back(*std::min(low, high));
    if (low != high) kept.push_back(*std::max(low, high));
  }
  kept.push_back(points.back());
  return kept;
}

// Whether anything was left out.
bool shorten(Chart& chart) {
  if (chart.kind != ChartKind::kLine && chart.kind != ChartKind::kScatter) return false;
  size_t most = 0;
  for (Series& series : chart.series) {
    if (series.points.size() <= kMostPoints) continue;
    most = std::max(most, series.points.size());
    series.points = thinned(series.points);
  }
  if (most == 0) return false;
  chart.caption += fmt::format(
      "{}Drawn with {} of up to {} points of a series, the highest and lowest of "
      "each stretch; the page has all.",
      chart.caption.empty() ? "" : " ", kMostPoints, count_cell(static_cast<int64_t>(most)).text);
  return true;
}

}  // namespace

std::optional<Document> brief(const Document& document) {
  bool shorter = false;
  Document out = document;
  out.blocks.clear();
  for (const Block& block : document.blocks) {
    out.blocks.push_back(block);
    if (auto* chart = std::get_if<Chart>(&out.blocks.back())) {
      shorter = shorten(*chart) || shorter;
    }
    const auto* table = std::get_if<Table>(&block);
    if (table == nullptr || table->num_rows() <= kMostRows) continue;
    shorter = true;
    out.blocks.back() = table->ends(kEndRows);
    out.blocks.emplace_back(
        Paragraph{fmt::format("The first and last {} of {} rows; the page and the data have all.",
                              kEndRows, count_cell(static_cast<int64_t>(table->num_rows())).text)});
  }
  if (!shorter) return std::nullopt;
  return out;
}

}  // namespace trainyard::report
