#include "cluster/schedule/loss/curve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/csv.h"
#include "base/error.h"
#include "base/integers.h"
#include "base/text.h"

namespace trainyard::schedule {
namespace {

std::vector<double> slice(const std::vector<double>& values, size_t first, size_t last) {
  if (values.empty()) return {};
  return {values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(last)};
}

// Which network on which device: columns that say the same in every row.
void read_origin(const CsvTable& table, Curve& curve) {
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    if (table.has_column("depth")) {
      const double depth = row.number("depth");
      TY_REQUIRE(depth >= 1, "{}: depth {:g}, expected at least 1", curve.name, depth);
      TY_REQUIRE(!curve.depth || *curve.depth == depth,
                 "{}: depth {:g} after {:g}; a file is the curve of one network", curve.name, depth,
                 *curve.depth);
      curve.depth = depth;
    }
    if (table.has_column("device")) {
      const std::string device{row.text("device")};
      TY_REQUIRE(i == 0 || curve.device == device,
                 "{}: device '{}' after '{}'; a file is the curve of one device", curve.name,
                 device, curve.device);
      curve.device = device;
    }
  }
}

// The mean of first … last-1.
double mean(const std::vector<double>& values, size_t first, size_t last) {
  double sum = 0;
  for (size_t i = first; i < last; ++i) sum += values[i];
  return sum / static_cast<double>(last - first);
}

}  // namespace

Curve Curve::part(size_t first, size_t last) const {
  return {name,
          unit,
          slice(k, first, last),
          slice(loss, first, last),
          slice(rate, first, last),
          slice(accuracy, first, last),
          depth,
          device};
}

void check_curve(const Curve& curve) {
  TY_REQUIRE(curve.size() >= kFewestPoints,
             "{}: {} points, expected at least {}; let the training run on, or write more often",
             curve.name, curve.size(), kFewestPoints);
  for (size_t i = 0; i < curve.size(); ++i) {
    TY_REQUIRE(
        std::isfinite(curve.loss[i]),
        "{}: the loss of {} {:g} is not a finite number; leave out what follows a divergence",
        curve.name, curve.unit, curve.k[i]);
    TY_REQUIRE(curve.loss[i] > 0, "{}: the loss of {} {:g} is {:g}, expected a number above 0",
               curve.name, curve.unit, curve.k[i], curve.loss[i]);
    TY_REQUIRE(std::isfinite(curve.k[i]) && curve.k[i] >= 0, "{}: point {} is at {} {:g}",
               curve.name, i + 1, curve.unit, curve.k[i]);
    TY_REQUIRE(i == 0 || curve.k[i] > curve.k[i - 1],
               "{}: {} {:g} comes after {:g}; points have to be in ascending order, each once",
               curve.name, curve.unit, curve.k[i], curve.k[i - 1]);
  }
  const auto [low, high] = std::minmax_element(curve.loss.begin(), curve.loss.end());
  TY_REQUIRE(*high > *low, "{}: the loss is {:g} everywhere; there is nothing to fit", curve.name,
             *low);
  // Means of the ends, since single points are noisy.
  const auto end = static_cast<std::ptrdiff_t>(std::max<size_t>(1, curve.size() / 4));
  const auto mean = [&](auto first) {
    return std::accumulate(first, first + end, 0.0) / static_cast<double>(end);
  };
  const double begins = mean(curve.loss.begin());
  const double ends = mean(curve.loss.end() - end);
  TY_REQUIRE(ends <= begins,
             "{}: the loss rises, from {:g} to {:g}; no falling curve describes it. Leave out what "
             "follows a divergence",
             curve.name, begins, ends);
}

namespace {

// A curve of these rows.
Curve curve_of_rows(const CsvTable& table, const std::vector<size_t>& rows) {
  Curve curve;
  curve.name = std::filesystem::path(table.origin()).stem().string();
  curve.unit = table.has_column("epoch") ? "epoch" : "step";
  table.require_columns({curve.unit, "loss"});
  const std::string rate = table.has_column("learning_rate") ? "learning_rate" : "rate";
  for (const size_t i : rows) {
    const CsvRow row = table.row(i);
    curve.k.push_back(row.number(curve.unit));
    curve.loss.push_back(row.number("loss"));
    if (table.has_column(rate)) curve.rate.push_back(row.number(rate));
    if (table.has_column("accuracy")) {
      curve.accuracy.push_back(row.maybe_number("accuracy").value_or(NAN));
    }
  }
  return curve;
}

}  // namespace

Curve curve_from_csv(std::string_view text, const std::string& origin) {
  const CsvTable table = CsvTable::parse(text, origin);
  std::vector<size_t> rows(table.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  Curve curve = curve_of_rows(table, rows);
  read_origin(table, curve);
  check_curve(curve);
  return curve;
}

std::vector<Curve> curves_from_csv(std::string_view text, const std::string& origin) {
  const CsvTable table = CsvTable::parse(text, origin);
  table.require_columns({"depth", "device"});
  std::vector<std::pair<std::string, std::vector<size_t>>> groups;  // in the order of the file
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string key = table.row(i).text("device") + ", depth " + table.row(i).text("depth");
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == key; });
    if (found != groups.end()) {
      found->second.push_back(i);
    } else {
      groups.push_back({key, {i}});
    }
  }
  std::vector<Curve> curves;
  for (const auto& [key, rows] : groups) {
    Curve curve = curve_of_rows(table, rows);
    if (groups.size() > 1) curve.name = key;
    curve.depth = table.row(rows[0]).number("depth");
    curve.device = table.row(rows[0]).text("device");
    check_curve(curve);
    curves.push_back(std::move(curve));
  }
  return curves;
}

Curve averaged(const Curve& curve, size_t most) {
  if (curve.size() <= most) return curve;
  const auto group = static_cast<size_t>(
      divide_up(static_cast<int64_t>(curve.size()), static_cast<int64_t>(most)));
  Curve out = curve.part(0, 0);
  for (size_t first = 0; first < curve.size();) {
    size_t last = first + 1;
    while (last < std::min(curve.size(), first + group) &&
           (curve.rate.empty() || curve.rate[last] == curve.rate[first])) {
      ++last;
    }
    out.k.push_back(mean(curve.k, first, last));
    out.loss.push_back(mean(curve.loss, first, last));
    if (!curve.rate.empty()) out.rate.push_back(curve.rate[first]);
    if (!curve.accuracy.empty()) out.accuracy.push_back(curve.accuracy[last - 1]);
    first = last;
  }
  return out;
}

}  // namespace trainyard::schedule
