// Charts in a terminal: points and lines in braille dots, bars in blocks, maps in shades.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/text.h"
#include "report/chart.h"
#include "report/chart_scale.h"
#include "report/table.h"

namespace trainyard::report {
namespace {

constexpr int kUsualColumns = 72;
constexpr int kRows = 14;
constexpr int kDotColumns = 2;  // of a braille character
constexpr int kDotRows = 4;
constexpr size_t kMostMarked = 40;  // points of a series that get a mark each
constexpr std::array<std::string_view, 8> kMarks = {"●", "○", "▲", "△", "■", "□", "◆", "◇"};
constexpr std::array<std::string_view, 6> kFills = {"█", "▓", "▒", "░", "▞", "▚"};
constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

// What a terminal leaves beside labels and the name of the axis.
int plot_columns() {
  constexpr int kBeside = 28;
  const auto columns = static_cast<int>(terminal_columns());
  return columns == 0 ? kUsualColumns : std::clamp(columns - kBeside, 24, 160);
}

// As many as usual, or what a terminal leaves beside `taken` others.
int columns_beside(size_t taken, int usual) {
  constexpr int kFewest = 8;
  const auto columns = static_cast<int>(terminal_columns());
  return columns == 0 ? usual : std::clamp(columns - static_cast<int>(taken), kFewest, usual);
}

std::string repeated(std::string_view piece, int64_t times) {
  std::string out;
  for (int64_t i = 0; i < times; ++i) out += piece;
  return out;
}

// Without trailing blanks, which would show in files and comparisons.
std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

// Dots, with characters that lie over them.
class Canvas {
 public:
  explicit Canvas(int columns) : columns_(columns) {
    for (auto& row : dots_) row.resize(static_cast<size_t>(columns));
    for (auto& row : marks_) row.resize(static_cast<size_t>(columns));
  }

  // x and y from 0 to 1, y upwards; what is outside goes to the border.
  void dot(double x, double y) {
    const int column = std::clamp(static_cast<int>(std::lround(x * (kDotColumns * columns_ - 1))),
                                  0, kDotColumns * columns_ - 1);
    const int row = std::clamp(static_cast<int>(std::lround((1 - y) * (kDotRows * kRows - 1))), 0,
                               kDotRows * kRows - 1);
    // Unicode's numbering of the dots: down the left column, down the right, then the bottom row.
    constexpr std::array<std::array<uint8_t, kDotRows>, kDotColumns> kBits = {
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    dots_[row / kDotRows][static_cast<size_t>(column / kDotColumns)] |=
        kBits[column % kDotColumns][row % kDotRows];
  }

  void line(double x0, double y0, double x1, double y1) {
    const int steps = static_cast<int>(std::ceil(std::max(
        std::fabs(x1 - x0) * kDotColumns * columns_, std::fabs(y1 - y0) * kDotRows * kRows)));
    for (int i = 0; i <= steps; ++i) {
      const double t = steps > 0 ? static_cast<double>(i) / steps : 0;
      dot(x0 + t * (x1 - x0), y0 + t * (y1 - y0));
    }
  }

  // Later marks cover earlier ones.
  void mark(double x, double y, std::string_view mark) {
    const auto column = std::clamp<int64_t>(std::lround(x * (columns_ - 1)), 0, columns_ - 1);
    const auto row = std::clamp<int64_t>(std::lround((1 - y) * (kRows - 1)), 0, kRows - 1);
    marks_[row][static_cast<size_t>(column)] = mark;
  }

  std::string row(int row) const {
    std::string out;
    for (int column = 0; column < columns_; ++column) {
      if (!marks_[row][static_cast<size_t>(column)].empty()) {
        out += marks_[row][static_cast<size_t>(column)];
      } else if (dots_[row][static_cast<size_t>(column)] == 0) {
        out += ' ';
      } else {
        // U+2800 and up in UTF-8.
        const uint8_t bits = dots_[row][static_cast<size_t>(column)];
        out += '\xe2';
        out += static_cast<char>(0xa0 | (bits >> 6));
        out += static_cast<char>(0x80 | (bits & 0x3f));
      }
    }
    return out;
  }

 private:
  int columns_;
  std::array<std::vector<uint8_t>, kRows> dots_;
  std::array<std::vector<std::string_view>, kRows> marks_;
};

std::string legend(const Chart& chart, std::span<const std::string_view> signs) {
  if (chart.series.size() < 2 && chart.series[0].name.empty()) return "";
  const size_t limit = terminal_columns();
  std::string out;
  std::string line;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const std::string entry = fmt::format("{} {}", signs[s % signs.size()], chart.series[s].name);
    if (limit > 0 && !line.empty() && width_of(line) + 3 + width_of(entry) > limit) {
      out += line_of(std::exchange(line, ""));
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  return out + line_of(line);
}

// Lines of a series first, its marks over them.
void draw(const Chart& chart, const Scale& x, const Scale& y, Canvas& canvas) {
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<ChartPoint>& points = chart.series[s].points;
    const ChartPoint* previous = nullptr;
    for (const ChartPoint& p : points) {
      if (!x.shows(p.x) || !y.shows(p.y)) continue;
      if (chart.kind == ChartKind::kLine && previous != nullptr) {
        canvas.line(x.place(previous->x), y.place(previous->y), x.place(p.x), y.place(p.y));
      }
      previous = &p;
    }
    for (size_t i = 0; i < points.size(); ++i) {
      const ChartPoint& p = points[i];
      if (!x.shows(p.x) || !y.shows(p.y)) continue;
      const bool few = points.size() <= kMostMarked;
      // The last point is always marked, so that a line can be told by its end.
      if (few || i + 1 == points.size()) {
        canvas.mark(x.place(p.x), y.place(p.y), kMarks[s % kMarks.size()]);
      } else if (chart.kind == ChartKind::kScatter) {
        canvas.dot(x.place(p.x), y.place(p.y));
      }
    }
  }
}

// Each number below its place; left out where it would touch the one before.
std::string labels_below(const std::vector<double>& ticks, const Scale& scale, int columns) {
  std::string line;
  for (const double tick : ticks) {
    const std::string label = tick_label(tick);
    const auto width = static_cast<int64_t>(label.size());
    const int64_t middle = std::lround(scale.place(tick) * (columns - 1));
    const auto begin =
        static_cast<size_t>(std::clamp<int64_t>(middle - width / 2, 0, columns - width));
    if (!line.empty() && begin < line.size() + 1) continue;
    line.resize(begin, ' ');
    line += label;
  }
  return padded(line, static_cast<size_t>(columns), Align::kLeft);
}

std::string plot(const Chart& chart) {
  Scale x(chart_values(chart, [](const ChartPoint& p) { return p.x; }), chart.x.log, false);
  Scale y(chart_values(chart, [](const ChartPoint& p) { return p.y; }), chart.y.log, true);
  std::array<std::string, kRows> labels;
  for (const double tick : y.round_ticks()) {
    labels[static_cast<size_t>(std::lround((1 - y.place(tick)) * (kRows - 1)))] = tick_label(tick);
  }
  const std::vector<double> x_ticks = x.round_ticks();
  const int columns = plot_columns();
  Canvas canvas(columns);
  draw(chart, x, y, canvas);
  constexpr size_t kLabel = 8;
  std::string out = line_of("  " + chart.y.name);
  for (int row = 0; row < kRows; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    out += line_of(padded(label, kLabel, Align::kRight) + (label.empty() ? " │" : " ┤") +
                   canvas.row(row));
  }
  out += padded("", kLabel, Align::kRight) + " └" + repeated("─", columns) + "\n";
  const std::string below =
      padded("", kLabel + 2, Align::kLeft) + labels_below(x_ticks, x, columns);
  const size_t limit = terminal_columns();
  // A long name goes below the numbers.
  out += limit > 0 && width_of(below) + 2 + width_of(chart.x.name) > limit
             ? line_of(below) + line_of(padded(chart.x.name, width_of(below), Align::kRight))
             : line_of(below + "  " + chart.x.name);
  return out + legend(chart, kMarks);
}

// To an eighth of a column.
std::string bar(double share, int width) {
  const auto eighths = std::clamp<int64_t>(std::lround(share * width * 8), 0, width * 8);
  return repeated("█", eighths / 8) + std::string(kEighths[static_cast<size_t>(eighths % 8)]);
}

constexpr int kBarColumns = 50;
constexpr size_t kBesideBar = 10;  // a line, and the number at the end

size_t widest(const std::vector<std::string>& words) {
  size_t most = 0;
  for (const std::string& word : words) most = std::max(most, width_of(word));
  return most;
}

// Of bars: 0 at the left; the share of the widest bar.
double bar_share(const Axis& axis, double value, const Scale& scale) {
  if (!scale.shows(value)) return 0;
  // On a log axis the shortest bar is still seen.
  constexpr double kShortest = 0.05;
  return axis.log ? kShortest + (1 - kShortest) * scale.place(value)
                  : std::max(0.0, value / scale.at(1));
}

std::string bars(const Chart& chart) {
  std::vector<double> values = chart_values(chart, [](const ChartPoint& p) { return p.y; });
  const Scale scale(values, chart.y.log, true);
  std::vector<std::string> names;
  for (const Series& series : chart.series) names.push_back(series.name);
  const bool several = chart.series.size() > 1;
  const size_t category_width = widest(chart.x.categories);
  const size_t name_width = several ? widest(names) : 0;
  const int columns = columns_beside(category_width + name_width + kBesideBar, kBarColumns);
  std::string out = line_of("  " + chart.y.name);
  for (size_t c = 0; c < chart.x.categories.size(); ++c) {
    bool first = true;
    for (const Series& series : chart.series) {
      for (const ChartPoint& p : series.points) {
        if (static_cast<size_t>(p.x) != c || std::isnan(p.y)) continue;
        const std::string head =
            padded(first ? chart.x.categories[c] : "", category_width, Align::kLeft);
        const std::string name =
            several ? " " + padded(series.name, name_width, Align::kLeft) : std::string();
        out += line_of(fmt::format("{}{} │{} {}", head, name,
                                   bar(bar_share(chart.y, p.y, scale), columns), tick_label(p.y)));
        first = false;
      }
    }
  }
  return out;
}

// Ends are rounded, not lengths, so that the sum of a bar is right.
std::string stacked_bars(const Chart& chart) {
  std::vector<double> totals(chart.x.categories.size(), 0);
  for (const Series& series : chart.series) {
    for (const ChartPoint& p : series.points) {
      const auto c = static_cast<size_t>(p.x);
      if (c < totals.size() && std::isfinite(p.y)) totals[c] += p.y;
    }
  }
  const double most = totals.empty() ? 1 : *std::max_element(totals.begin(), totals.end());
  std::string out = line_of("  " + chart.y.name);
  const size_t width = widest(chart.x.categories);
  const int columns = columns_beside(width + kBesideBar, kBarColumns);
  for (size_t c = 0; c < totals.size(); ++c) {
    std::string line = padded(chart.x.categories[c], width, Align::kLeft) + " │";
    double sum = 0;
    int64_t drawn = 0;
    for (size_t s = 0; s < chart.series.size(); ++s) {
      for (const ChartPoint& p : chart.series[s].points) {
        if (static_cast<size_t>(p.x) != c || !std::isfinite(p.y)) continue;
        sum += p.y;
        const int64_t end = std::lround(sum / most * columns);
        line += repeated(kFills[s % kFills.size()], end - drawn);
        drawn = std::max(drawn, end);
      }
    }
    out += line_of(line + " " + tick_label(totals[c]));
  }
  return out + legend(chart, kFills);
}

std::string histogram(const Chart& chart) {
  const Scale scale(chart_values(chart, [](const ChartPoint& p) { return p.y; }), chart.y.log,
                    true);
  constexpr size_t kRange = 21;
  const int columns = columns_beside(kRange + kBesideBar, kBarColumns);
  std::string out;
  for (const Series& series : chart.series) {
    if (!series.name.empty()) out += series.name + "\n";
    for (const ChartPoint& p : series.points) {
      out += line_of(fmt::format("{:>9} … {:<9} │{} {}", tick_label(p.low), tick_label(p.high),
                                 bar(bar_share(chart.y, p.y, scale), columns), tick_label(p.y)));
    }
  }
  return out;
}

// As many columns at once as the terminal holds, then the next block below.
std::string heat_map(const Chart& chart) {
  const Scale scale(chart_values(chart, [](const ChartPoint& p) { return p.value; }), false, false);
  constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
  const size_t width = widest(chart.y.categories);
  size_t cell = std::max<size_t>(6, widest(chart.x.categories));
  for (const double v : chart_values(chart, [](const ChartPoint& p) { return p.value; })) {
    cell = std::max(cell, width_of(tick_label(v)) + 1);
  }
  const size_t limit = terminal_columns();
  const size_t all = chart.x.categories.size();
  const size_t at_once =
      limit == 0 ? all : std::max<size_t>(1, (limit - std::min(limit, width)) / (cell + 1));
  const auto text_at = [&](size_t row, size_t column) {
    std::string text;
    for (const Series& series : chart.series) {
      for (const ChartPoint& p : series.points) {
        if (static_cast<size_t>(p.x) != column || static_cast<size_t>(p.y) != row) continue;
        if (!std::isfinite(p.value)) continue;
        const auto shade = static_cast<size_t>(std::lround(scale.place(p.value) * 4));
        text = std::string(kShades[std::min<size_t>(shade, 4)]) + tick_label(p.value);
      }
    }
    return text;
  };
  std::string out;
  for (size_t begin = 0; begin < all; begin += at_once) {
    const size_t end = std::min(all, begin + at_once);
    const auto line = [&](const std::string& head, const auto& cell_at) {
      std::string text = padded(head, width, Align::kLeft);
      for (size_t c = begin; c < end; ++c) text += " " + padded(cell_at(c), cell, Align::kRight);
      return line_of(text);
    };
    out += line("", [&](size_t c) { return chart.x.categories[c]; });
    for (size_t row = 0; row < chart.y.categories.size(); ++row) {
      out += line(chart.y.categories[row], [&](size_t c) { return text_at(row, c); });
    }
  }
  return out;
}

std::string timeline(const Chart& chart) {
  std::vector<double> ends = chart_values(chart, [](const ChartPoint& p) { return p.high; });
  ends.push_back(0);
  const double last = *std::max_element(ends.begin(), ends.end());
  const size_t width = widest(chart.y.categories);
  const int columns = columns_beside(width + width_of(chart.x.name) + 4, kUsualColumns);
  const auto column_of = [&](double time) {
    return last > 0 ? std::lround(time / last * columns) : 0;
  };
  std::string out;
  for (size_t lane = 0; lane < chart.y.categories.size(); ++lane) {
    std::vector<std::string> cells(static_cast<size_t>(columns) + 1, " ");
    for (size_t s = 0; s < chart.series.size(); ++s) {
      for (const ChartPoint& p : chart.series[s].points) {
        if (static_cast<size_t>(p.y) != lane) continue;
        const int64_t begin = column_of(p.low);
        const int64_t end = std::max<int64_t>(column_of(p.high), begin + 1);
        // The last cell of a span is half as wide, so that neighbors can be told apart.
        for (int64_t i = begin; i < end; ++i) {
          cells[static_cast<size_t>(i)] =
              i + 1 == end ? "▌" : std::string(kFills[s % kFills.size()]);
        }
        if (width_of(p.label) == 1 && end - begin > 2) {
          cells[static_cast<size_t>((begin + end) / 2)] = p.label;
        }
      }
    }
    std::string line = padded(chart.y.categories[lane], width, Align::kLeft) + " │";
    for (const std::string& piece : cells) line += piece;
    out += line_of(line);
  }
  out += padded("", width, Align::kLeft) + " └" + repeated("─", columns) + "\n";
  out += line_of(fmt::format("{}  0{:>{}} {}", padded("", width, Align::kLeft), tick_label(last),
                             columns - 1, chart.x.name));
  return out + legend(chart, kFills);
}

}  // namespace

// Sizes follow the terminal; in files they are fixed.
std::string chart_text(const Chart& chart) {
  std::string out = chart.title + "\n";
  bool empty = true;
  for (const Series& series : chart.series) empty = empty && series.points.empty();
  if (empty) return out + "(no data)\n";
  switch (chart.kind) {
    case ChartKind::kLine:
    case ChartKind::kScatter:
      return out + plot(chart);
    case ChartKind::kBar:
      return out + bars(chart);
    case ChartKind::kStackedBar:
      return out + stacked_bars(chart);
    case ChartKind::kHistogram:
      return out + histogram(chart);
    case ChartKind::kHeatMap:
      return out + heat_map(chart);
    case ChartKind::kTimeline:
      return out + timeline(chart);
  }
  return out;
}

}  // namespace trainyard::report
