#include "analysis/layout.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::analysis {
namespace {

constexpr int kSweeps = 4;

using Lists = std::vector<std::vector<size_t>>;

// Boxes of a row side by side, in the order of where they would like to stand.
void spread_row(const std::vector<size_t>& row, std::vector<double>& x) {
  std::vector<size_t> sorted = row;
  std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  double middle = 0;
  for (const size_t box : sorted) middle += x[box];
  middle /= static_cast<double>(sorted.size());
  // Not closer than a box apart, and the row's middle stays.
  for (size_t i = 1; i < sorted.size(); ++i) {
    x[sorted[i]] = std::max(x[sorted[i]], x[sorted[i - 1]] + 1);
  }
  double moved = 0;
  for (const size_t box : sorted) moved += x[box];
  moved = moved / static_cast<double>(sorted.size()) - middle;
  for (const size_t box : sorted) x[box] -= moved;
}

void pull(const std::vector<size_t>& row, const Lists& neighbors, std::vector<double>& x) {
  for (const size_t box : row) {
    if (neighbors[box].empty()) continue;
    double sum = 0;
    for (const size_t other : neighbors[box]) sum += x[other];
    x[box] = sum / static_cast<double>(neighbors[box].size());
  }
  spread_row(row, x);
}

}  // namespace

std::vector<Place> place_boxes(size_t boxes, const std::vector<std::pair<size_t, size_t>>& edges) {
  Lists above(boxes);
  Lists below(boxes);
  for (const auto& [from, to] : edges) {
    TY_CHECK(from < to && to < boxes, "an edge from box {} to box {} of {}", from, to, boxes);
    above[to].push_back(from);
    below[from].push_back(to);
  }
  std::vector<Place> places(boxes);
  Lists rows;
  for (size_t box = 0; box < boxes; ++box) {
    int64_t row = 0;
    for (const size_t other : above[box]) row = std::max(row, places[other].row + 1);
    places[box].row = row;
    rows.resize(std::max(rows.size(), static_cast<size_t>(row) + 1));
    rows[static_cast<size_t>(row)].push_back(box);
  }
  std::vector<double> x(boxes, 0);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const auto& row : rows) pull(row, above, x);
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) pull(*row, below, x);
  }
  for (const auto& row : rows) pull(row, above, x);
  for (size_t box = 0; box < boxes; ++box) places[box].x = x[box];
  return places;
}

}  // namespace trainyard::analysis
