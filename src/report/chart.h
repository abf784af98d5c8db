// Charts as data: what is drawn, not how. Terminals get Unicode, HTML pages get ECharts.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard::report {

class Table;

enum class ChartKind : uint8_t {
  kLine,
  kScatter,
  kBar,
  kStackedBar,
  kHistogram,
  kHeatMap,
  kTimeline
};

// Where the numbers of a series come from; predicted and measured ones look different everywhere.
// Extrapolated: computed from a few measured steps, or from points around it.
enum class Origin : uint8_t { kPlain, kMeasured, kPredicted, kPublished, kIdeal, kExtrapolated };

// Throw Error with the nearest name.
ChartKind chart_kind_from_name(std::string_view name);
std::string_view chart_kind_name(ChartKind kind);
Origin origin_from_name(std::string_view name);
std::string_view origin_name(Origin origin);

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

// What the fields mean depends on the kind:
//   line, scatter    x, y; low and high are the ends of the error bar
//   bar, stacked bar x is the index of a category; y, low, high as above
//   histogram        low and high are the edges of the bin, y the count
//   heat map         x and y are indexes of categories, value is the color
//   timeline         y is the index of a lane, low and high begin and end of the span
struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = kAbsent;
  double high = kAbsent;
  double value = kAbsent;
  std::string label = {};  // shown with the point
};

struct Series {
  std::string name;
  Origin origin = Origin::kPlain;
  std::vector<ChartPoint> points;
  std::string group = {};  // series of one group have one color
  bool dashed = false;     // a second line of the group, whatever its origin
};

struct Axis {
  std::string name;
  bool log = false;                          // ignored for categories
  std::vector<std::string> categories = {};  // empty: numbers
};

struct Chart {
  ChartKind kind = ChartKind::kLine;
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series = {};
  std::string caption = {};
};

// The numbers of a chart as a table, a row per x (or per point where x repeats).
Table chart_table(const Chart& chart);
// Everything the page needs to draw it.
Json chart_json(const Chart& chart);
// At most 100 columns and about 20 lines.
std::string chart_text(const Chart& chart);
// A picture that needs no script, 720 wide; exact numbers are titles of its marks.
std::string chart_svg(const Chart& chart);

}  // namespace trainyard::report
