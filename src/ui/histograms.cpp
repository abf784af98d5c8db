#include "ui/histograms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "http/status.h"
#include "runs/recordings/event_reader.h"
#include "runs/recordings/event_recording.h"

namespace trainyard::ui {
namespace {

using runs::EventHistogram;

constexpr size_t kMostSteps = 60;
constexpr size_t kParts = 40;

// A damaged file has said so in the row of the run; what lies before the damage counts.
void read_histograms(const Run& run, const runs::EventUser& use) {
  for (const std::string& name : runs::event_files(run.directory)) {
    try {
      runs::read_events(run.directory / name, 0, INT64_MAX, use);
    } catch (const Error&) {
      continue;
    }
  }
}

// Each bucket is spread evenly over the parts that it reaches into.
std::vector<double> counts_in_parts(const EventHistogram& histogram, double low, double high) {
  std::vector<double> parts(kParts, 0);
  const double width = (high - low) / kParts;
  double left = histogram.low;
  for (size_t i = 0; i < histogram.ends.size(); ++i) {
    const double right = std::min(histogram.ends[i], histogram.high);
    const auto place = [&](double value) { return (value - low) / width; };
    const double begin = std::clamp(place(left), 0.0, static_cast<double>(kParts));
    const double end = std::clamp(place(right), begin, static_cast<double>(kParts));
    const size_t first = std::min(kParts - 1, static_cast<size_t>(begin));
    const size_t last = std::min(kParts - 1, static_cast<size_t>(end));
    for (size_t part = first; part <= last; ++part) {
      const double from = std::max(begin, static_cast<double>(part));
      const double to = std::min(end, static_cast<double>(part + 1));
      const double share = end > begin ? (to - from) / (end - begin) : 1;
      parts[part] += histogram.counts[i] * std::max(0.0, share);
    }
    left = std::max(left, right);
  }
  return parts;
}

// As many as fit, evenly, with the first and the last.
std::vector<int64_t> shown_steps(const std::map<int64_t, EventHistogram>& all) {
  std::vector<int64_t> steps;
  for (const auto& [step, histogram] : all) steps.push_back(step);
  if (steps.size() <= kMostSteps) return steps;
  std::vector<int64_t> some;
  for (size_t i = 0; i < kMostSteps; ++i) {
    some.push_back(steps[i * (steps.size() - 1) / (kMostSteps - 1)]);
  }
  return some;
}

}  // namespace

Json histogram_names(const Run& run) {
  std::map<std::string, int64_t> counts;
  read_histograms(run, {.histogram = [&](int64_t, std::string_view tag, Bytes) {
                    ++counts[printable_line(tag)];
                  }});
  Json::Array names;
  for (const auto& [name, count] : counts) names.emplace_back(name);
  return Json::object({{"names", std::move(names)}});
}

Json histograms_of(const Run& run, const std::string& name) {
  // Of a step that a resumed run has repeated, the last.
  std::map<int64_t, EventHistogram> all;
  read_histograms(run, {.histogram = [&](int64_t step, std::string_view tag, Bytes bytes) {
                    if (printable_line(tag) != name) return;
                    EventHistogram histogram = runs::parse_histogram(bytes);
                    const bool sound = std::isfinite(histogram.low) &&
                                       std::isfinite(histogram.high) &&
                                       std::isfinite(histogram.high - histogram.low) &&
                                       histogram.low <= histogram.high && !histogram.ends.empty() &&
                                       std::none_of(histogram.ends.begin(), histogram.ends.end(),
                                                    [](double end) { return std::isnan(end); });
                    if (sound) all[step] = std::move(histogram);
                  }});
  if (all.empty()) serve::refuse(serve::Status::kNotFound, "the run has no histogram '{}'", name);
  double low = INFINITY;
  double high = -INFINITY;
  for (const auto& [step, histogram] : all) {
    low = std::min(low, histogram.low);
    high = std::max(high, histogram.high);
  }
  // All numbers the same: something on both sides of them.
  if (!std::isfinite(high - low)) {
    serve::refuse(serve::Status::kBadRequest, "the histogram '{}' goes from {} to {}", name, low,
                  high);
  }
  const double room = high > low ? 0 : std::max(1e-6, 0.01 * std::abs(high));
  Json::Array steps;
  for (const int64_t step : shown_steps(all)) {
    const EventHistogram& histogram = all.at(step);
    steps.push_back(Json::object(
        {{"step", step},
         {"least", histogram.low},
         {"most", histogram.high},
         {"mean", histogram.mean},
         {"deviation", histogram.deviation},
         {"counts", Json::array_of(counts_in_parts(histogram, low - room, high + room))}}));
  }
  return Json::object(
      {{"name", name}, {"low", low - room}, {"high", high + room}, {"steps", std::move(steps)}});
}

}  // namespace trainyard::ui
