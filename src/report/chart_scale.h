// What drawings of a chart share: where numbers lie, and how ticks are named.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace trainyard::report {

// Numbers to [0, 1].
class Scale {
 public:
  // Of numbers that cannot be shown (not finite; not positive on a log scale) none counts.
  // `from_zero`: begins at 0 if that wastes less than half.
  Scale(std::vector<double> values, bool log, bool from_zero);

  // Widens the scale to round numbers, and returns those to label. Between numbers that lie close
  // together a log scale has the marks of a linear one; whole numbers have whole marks.
  std::vector<double> round_ticks();

  bool shows(double v) const;
  double place(double v) const { return (bent(v) - bent(low_)) / (bent(high_) - bent(low_)); }
  double at(double place) const;

 private:
  std::vector<double> powers();
  double bent(double v) const;

  bool log_;
  bool whole_ = false;  // all numbers are
  double low_ = 0;
  double high_ = 1;
};

// Three digits, or an SI prefix from a thousand on.
std::string tick_label(double value);

// A number of every point.
template <typename F>
std::vector<double> chart_values(const Chart& chart, F&& number_of) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) values.push_back(number_of(point));
  }
  return values;
}

}  // namespace trainyard::report
