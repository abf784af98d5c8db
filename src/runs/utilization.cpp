#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runs/view.h"

namespace trainyard::report {
namespace {

// From here on one thing is said to be the limit.
constexpr double kMuchWaiting = 0.05;
constexpr double kBusy = 0.85;
constexpr double kOthers = 0.15;

struct Averages {
  int64_t samples = 0;
  double process = 0;
  double machine = 0;
  double memory = 0;
  double memory_bytes = 0;
  double disk_per_s = 0;
  double gpu = kAbsent;
  double gpu_memory = kAbsent;
  double waiting = 0;  // of training time: for data, and for other workers
  double exchanging = 0;
};

double value_of(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  return value != nullptr && value->is_number() ? value->as_number() : kAbsent;
}

bool lies_in(double seconds, const std::optional<Window>& window) {
  return !window || (window->begin <= seconds && seconds <= window->end);
}

double mean_of(const BusyRun& run, const std::optional<Window>& window, std::string_view key) {
  double sum = 0;
  int64_t count = 0;
  for (const Json& sample : run.samples) {
    const double value = value_of(sample, key);
    if (std::isnan(value) || !lies_in(value_of(sample, "at_s"), window)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kAbsent : sum / static_cast<double>(count);
}

// Epochs that ended in the window say how long was waited; without any, all of them do.
void add_waiting(const BusyRun& run, std::optional<Window> window, Averages& averages) {
  double train = 0;
  for (int tries = 0; train == 0 && tries < 2; ++tries, window.reset()) {
    for (const Json& epoch : run.epochs) {
      if (!lies_in(value_of(epoch, "seconds"), window)) continue;
      train += value_of(epoch, "train_s");
      averages.waiting += value_of(epoch, "wait_s");
      averages.exchanging += value_of(epoch, "exposed_s");
    }
  }
  if (!(train > 0)) return;
  averages.waiting /= train;
  averages.exchanging /= train;
}

Averages average(const BusyRun& run, const std::optional<Window>& window) {
  Averages averages;
  for (const Json& sample : run.samples) {
    averages.samples += lies_in(value_of(sample, "at_s"), window) ? 1 : 0;
  }
  averages.process = mean_of(run, window, "process");
  averages.machine = mean_of(run, window, "machine");
  averages.memory = mean_of(run, window, "memory");
  averages.memory_bytes = mean_of(run, window, "memory_bytes");
  averages.disk_per_s = mean_of(run, window, "read_per_s") + mean_of(run, window, "written_per_s");
  averages.gpu = mean_of(run, window, "gpu");
  averages.gpu_memory = mean_of(run, window, "gpu_memory");
  add_waiting(run, window, averages);
  return averages;
}

// In the order of what can be done about it: waiting shows in the loop's own clocks and is certain,
// idle processors are only what is left.
std::string limit_of(const Averages& averages) {
  if (averages.waiting > kMuchWaiting) {
    return fmt::format(
        "data: {:.0f} % of the training time is waiting for it; more data workers, "
        "or cheaper augmentation",
        100 * averages.waiting);
  }
  if (averages.exchanging > kMuchWaiting) {
    return fmt::format("communication: {:.0f} % of the training time; larger batches per worker",
                       100 * averages.exchanging);
  }
  if (averages.machine - averages.process > kOthers) {
    return fmt::format("others: they keep {:.0f} % of the processors busy",
                       100 * (averages.machine - averages.process));
  }
  if (averages.process > kBusy) return "computation: the processors are busy with this run";
  return fmt::format(
      "too little to do at once: {:.0f} % of the processors are idle; more threads "
      "or a larger batch",
      100 * (1 - averages.machine));
}

// A sample each second: a day would be a large page that shows no more than this.
size_t stride_of(const BusyRun& run) {
  constexpr size_t kMostSamples = 300;
  return 1 + run.samples.size() / kMostSamples;
}

Chart busy_chart(std::span<const BusyRun> runs) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Utilization",
              .x = {.name = "seconds since the start"},
              .y = {.name = "%"},
              .caption =
                  "Of all processors: this run, and all processes. Of memory: all processes. "
                  "Sampled once a second."};
  const std::pair<const char*, const char*> kinds[] = {{"process", "processors, this run"},
                                                       {"machine", "processors, everybody"},
                                                       {"memory", "memory"},
                                                       {"gpu", "GPU"},
                                                       {"gpu_memory", "GPU memory"}};
  for (const BusyRun& run : runs) {
    const size_t stride = stride_of(run);
    for (const auto& [key, name] : kinds) {
      Series series{runs.size() == 1 ? name : run.name + ", " + name, Origin::kMeasured, {}};
      for (size_t i = 0; i < run.samples.size(); i += stride) {
        const double share = value_of(run.samples[i], key);
        if (!std::isnan(share)) {
          series.points.push_back({value_of(run.samples[i], "at_s"), 100 * share});
        }
      }
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
  }
  return chart;
}

Json averages_json(const Averages& averages) {
  Json all = Json::object({{"samples", averages.samples},
                           {"process", averages.process},
                           {"machine", averages.machine},
                           {"memory", averages.memory},
                           {"memory_bytes", averages.memory_bytes},
                           {"disk_per_s", averages.disk_per_s},
                           {"waiting", averages.waiting},
                           {"exchanging", averages.exchanging},
                           {"limit", limit_of(averages)}});
  if (!std::isnan(averages.gpu)) all["gpu"] = averages.gpu;
  if (!std::isnan(averages.gpu_memory)) all["gpu_memory"] = averages.gpu_memory;
  return all;
}

// Some samples of the window, as they were taken.
Json series_json(const BusyRun& run, const std::optional<Window>& window) {
  Json series = Json::array();
  for (size_t i = 0; i < run.samples.size(); i += stride_of(run)) {
    if (!lies_in(value_of(run.samples[i], "at_s"), window)) continue;
    Json sample = Json::object();
    for (const char* key : {"at_s", "process", "machine", "memory", "gpu", "gpu_memory"}) {
      const double value = value_of(run.samples[i], key);
      if (!std::isnan(value)) sample[key] = value;
    }
    series.push_back(std::move(sample));
  }
  return series;
}

}  // namespace

Window parse_window(const std::string& text) {
  const std::vector<std::string> ends = split(text, ':');
  const auto number = [&](const std::string& word) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    return word.empty() || *end != '\0' || !std::isfinite(value) ? kAbsent : value;
  };
  const Window window = ends.size() == 2 ? Window{number(ends[0]), number(ends[1])} : Window{};
  TY_REQUIRE(window.begin >= 0 && window.begin < window.end,
             "the window is '{}', expected two times in seconds, such as 10:190", text);
  return window;
}

std::vector<Block> utilization_blocks(std::span<const BusyRun> runs,
                                      const std::optional<Window>& window, Json& data) {
  std::vector<Block> blocks;
  Table table({{"run", Align::kLeft},
               {"samples"},
               {"processors, this run"},
               {"everybody"},
               {"memory"},
               {"disk MB/s"},
               {"GPU"},
               {"waiting for data"},
               {"limited by", Align::kLeft}});
  std::vector<BusyRun> sampled;
  for (const BusyRun& run : runs) {
    if (run.samples.empty()) continue;
    const Averages averages = average(run, window);
    // Without a window every sample counts, so that this can only fail where there is one.
    TY_REQUIRE(averages.samples > 0, "{}: no sample lies between {} s and {} s", run.name,
               window->begin, window->end);
    table.add_row({run.name, count_cell(averages.samples), percent_cell(averages.process),
                   percent_cell(averages.machine), percent_cell(averages.memory),
                   fixed_cell(averages.disk_per_s / 1e6, 2),
                   std::isnan(averages.gpu) ? Cell("-") : percent_cell(averages.gpu),
                   percent_cell(averages.waiting, 2), limit_of(averages)});
    Json entry = averages_json(averages);
    entry["name"] = run.name;
    entry["series"] = series_json(run, window);
    data.push_back(std::move(entry));
    sampled.push_back(run);
  }
  if (sampled.empty()) return blocks;
  blocks.emplace_back(
      Heading{window ? fmt::format("Utilization, {:g} s to {:g} s", window->begin, window->end)
                     : "Utilization"});
  Chart chart = busy_chart(sampled);
  if (!chart.series.empty()) blocks.emplace_back(std::move(chart));
  blocks.emplace_back(std::move(table));
  return blocks;
}

}  // namespace trainyard::report
