#include "runs/view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "runs/class_blocks.h"
#include "runs/metrics.h"
#include "runs/settings_view.h"

namespace trainyard::report {
namespace {

struct Run {
  std::string name;
  Json config;
  Json machine;
  std::vector<std::string> classes;  // names; empty: not known
  std::vector<Json> steps;
  std::vector<Json> epochs;        // empty: none is finished
  std::vector<Json> samples = {};  // of utilization
};

// What the page needs of it must be there.
Settings read_run_config(const std::filesystem::path& directory) {
  const auto document = open_settings(directory);
  document->root().at("model").text();
  document->root().at("batch").integer();
  return document->json();
}

Run read_run(const std::filesystem::path& directory) {
  Run run;
  run.name = name_of_run(directory);
  run.config = read_run_config(directory);
  run.machine = read_machine(directory);
  // Epochs have a train_loss, steps a loss; other lines, such as those of evaluations, are not
  // shown.
  for (Json& line : runs::read_metrics(directory / "metrics.jsonl")) {
    if (line.find("train_loss") != nullptr) {
      run.epochs.push_back(std::move(line));
    } else if (line.find("loss") != nullptr) {
      run.steps.push_back(std::move(line));
    }
  }
  const std::filesystem::path utilization = directory / "utilization.jsonl";
  if (std::filesystem::exists(utilization)) run.samples = runs::read_metrics(utilization);
  const std::filesystem::path classes = directory / "classes.txt";
  if (std::filesystem::exists(classes)) {
    run.classes = split(read_file(classes), '\n');
    if (run.classes.back().empty()) run.classes.pop_back();
  }
  TY_REQUIRE(!run.epochs.empty() || !run.steps.empty(),
             "{}: no step is recorded yet; there is nothing to show", directory.string());
  return run;
}

double number(const Json& line, std::string_view key) {
  const Json* value = line.find(key);
  return value != nullptr && value->is_number() ? value->as_number() : kAbsent;
}

// Not every task has every score.
void add_point(Series& series, double x, double y) {
  if (!std::isnan(y)) series.points.push_back({x, y});
}

// Runs differ in color; tests are lines, training is dashed.
Chart curves(std::span<const Run> runs, std::string title, std::string unit,
             std::string_view test_key, std::string_view train_key, double factor) {
  Chart chart{.kind = ChartKind::kLine,
              .title = std::move(title),
              .x = {.name = "epoch"},
              .y = {.name = std::move(unit)}};
  for (const Run& run : runs) {
    if (run.epochs.empty()) continue;
    Series test{run.name + ", test", Origin::kMeasured, {}, run.name};
    Series training{run.name + ", training", Origin::kMeasured, {}, run.name, /*dashed=*/true};
    if (runs.size() == 1) {
      test.name = "test";
      training.name = "training";
    }
    for (const Json& epoch : run.epochs) {
      add_point(test, number(epoch, "epoch"), factor * number(epoch, test_key));
      add_point(training, number(epoch, "epoch"), factor * number(epoch, train_key));
    }
    if (!test.points.empty()) chart.series.push_back(std::move(test));
    if (!training.points.empty()) chart.series.push_back(std::move(training));
  }
  return chart;
}

// The loss of every step would be a cloud and a large file: means of neighbors are enough.
Chart step_chart(std::span<const Run> runs) {
  constexpr size_t kMostMeans = 200;
  Chart chart{.kind = ChartKind::kLine,
              .title = "Loss of training, step by step",
              .x = {.name = "step"},
              .y = {.name = "loss", .log = true},
              .caption = "Means over neighboring steps."};
  for (const Run& run : runs) {
    Series series{run.name, Origin::kMeasured, {}, run.name};
    // At most kMostMeans means; what does not fill the last one is left out.
    const size_t stride = (run.steps.size() + kMostMeans - 1) / kMostMeans;
    for (size_t i = 0; i + stride <= run.steps.size() && stride > 0; i += stride) {
      double sum = 0;
      for (size_t k = 0; k < stride; ++k) sum += number(run.steps[i + k], "loss");
      series.points.push_back(
          {number(run.steps[i + stride - 1], "step"), sum / static_cast<double>(stride)});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart time_chart(std::span<const Run> runs) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Accuracy against time",
              .x = {.name = "seconds since the start"},
              .y = {.name = "top-1 %"}};
  for (const Run& run : runs) {
    // One point is no curve.
    if (run.epochs.size() < 2) continue;
    Series series{run.name, Origin::kMeasured, {}, run.name};
    for (const Json& epoch : run.epochs) {
      add_point(series, number(epoch, "seconds"), 100 * number(epoch, "test_top1"));
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

// Of the last test; none where the task has no classes.
std::optional<Confusion> confusion_of(const Run& run) {
  const Json* counts = run.epochs.empty() ? nullptr : run.epochs.back().find("confusion");
  if (counts == nullptr || counts->items().size() < 4) return {};
  std::vector<int64_t> numbers;
  for (const Json& count : counts->items()) numbers.push_back(count.as_int());
  const auto classes =
      static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(numbers.size()))));
  TY_REQUIRE(classes * classes == numbers.size(),
             "{}: metrics.jsonl has a confusion matrix of {} numbers, which is no square", run.name,
             numbers.size());
  return Confusion(std::move(numbers), run.classes);
}

// The best of a column is marked among runs on the same data; of times, on the same machine too.
Table final_table(std::span<const Run> runs, Json& data) {
  const auto all_share = [&](const auto& fact) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const Run& run) { return fact(run) == fact(runs[0]); });
  };
  const bool same_data = all_share([](const Run& run) {
    const Json* set = run.config.find("data");
    return set != nullptr ? set->dump(-1) : "";
  });
  const bool same_host = all_share([](const Run& run) {
    const Json* host = run.machine.find("host");
    return host != nullptr ? host->dump(-1) : "";
  });
  const auto column = [&](std::string name, Best best) {
    const bool timed = name == "images/s" || name == "time";
    const bool comparable = same_data && (same_host || !timed);
    return Column{std::move(name), Align::kRight, 0, "", comparable ? best : Best::kNone};
  };
  const auto shown = [](double value, Cell cell) {
    return std::isnan(value) ? Cell("-") : std::move(cell);
  };
  Table table({{"run", Align::kLeft},
               {"model", Align::kLeft},
               {"epochs"},
               {"batch"},
               column("train loss", Best::kLowest),
               column("test loss", Best::kLowest),
               column("top-1", Best::kHighest),
               column("best top-1", Best::kHighest),
               column("images/s", Best::kHighest),
               column("time", Best::kLowest)});
  for (const Run& run : runs) {
    const bool whole = !run.epochs.empty();
    // A run that has not finished an epoch shows its last step.
    const Json& last = whole ? run.epochs.back() : run.steps.back();
    const double loss = number(last, whole ? "train_loss" : "loss");
    double best = number(last, "test_top1");
    double speed = whole ? 0 : kAbsent;
    for (const Json& epoch : run.epochs) {
      best = std::max(best, number(epoch, "test_top1"));
      speed += number(epoch, "images_per_s") / static_cast<double>(run.epochs.size());
    }
    const double seconds = number(last, "seconds");
    const double test = number(last, "test_loss");
    const double top1 = number(last, "test_top1");
    table.add_row({run.name, text_of_setting(run.config.at("model")),
                   count_cell(whole ? std::llround(number(last, "epoch")) : 0),
                   count_cell(std::llround(number(run.config, "batch"))),
                   shown(loss, fixed_cell(loss, 4)), shown(test, fixed_cell(test, 4)),
                   shown(top1, percent_cell(top1, 2)), shown(best, percent_cell(best, 2)),
                   shown(speed, fixed_cell(speed, 0)), shown(seconds, seconds_cell(seconds))});
    data.push_back(
        Json::object({{"name", run.name},
                      {"config", run.config},
                      {"epochs", Json::array_of(run.epochs)},
                      {"best_top1", best},
                      {"steps", number(run.steps.empty() ? last : run.steps.back(), "step")},
                      {"images_per_s", speed}}));
  }
  return table;
}

// What language models wrote after each epoch.
std::vector<Block> sample_blocks(std::span<const Run> runs) {
  std::vector<Block> blocks;
  for (const Run& run : runs) {
    for (const Json& epoch : run.epochs) {
      const Json* sample = epoch.find("sample");
      if (sample == nullptr || !sample->is_string()) continue;
      if (blocks.empty()) blocks.emplace_back(Heading{"Written"});
      const auto number_of_epoch = std::llround(number(epoch, "epoch"));
      blocks.emplace_back(Paragraph{
          fmt::format("{}, epoch {}: {}", run.name, number_of_epoch, sample->as_string())});
    }
  }
  return blocks;
}

}  // namespace

// Throws Error naming the folder that is no run.
Document runs_document(std::span<const std::filesystem::path> directories,
                       const std::optional<Window>& window) {
  std::vector<Run> runs;
  for (const std::filesystem::path& directory : directories) runs.push_back(read_run(directory));
  Document document;
  document.title = runs.size() == 1 ? "Training run " + runs[0].name
                                    : fmt::format("{} training runs", runs.size());
  Json list = Json::array();
  document.blocks.emplace_back(Heading{"At the end"});
  document.blocks.emplace_back(final_table(runs, list));
  document.blocks.emplace_back(Heading{"Curves"});
  const auto add = [&](Chart chart) {
    if (!chart.series.empty()) document.blocks.emplace_back(std::move(chart));
  };
  add(curves(runs, "Accuracy", "top-1 %", "test_top1", "train_accuracy", 100));
  add(curves(runs, "Loss", "loss", "test_loss", "train_loss", 1));
  add(step_chart(runs));
  add(time_chart(runs));
  for (Block& block : sample_blocks(runs)) document.blocks.push_back(std::move(block));
  std::vector<TestedRun> tested;
  for (const Run& run : runs) {
    if (auto confusion = confusion_of(run)) tested.push_back({run.name, std::move(*confusion)});
  }
  for (Block& block : class_blocks(tested)) document.blocks.push_back(std::move(block));
  std::vector<BusyRun> busy;
  for (const Run& run : runs) busy.push_back({run.name, run.samples, run.epochs});
  Json utilization = Json::array();
  for (Block& block : utilization_blocks(busy, window, utilization)) {
    document.blocks.push_back(std::move(block));
  }
  if (runs.size() > 1) {
    std::vector<NamedSettings> named;
    for (const Run& run : runs) named.push_back({run.name, run.config});
    add_differences(document, named);
  }
  // Of the first run: pages have room for one; the others are in the data.
  document.blocks.emplace_back(
      Provenance{.command = {}, .configuration = runs[0].config, .machine = runs[0].machine});
  document.data =
      Json::object({{"runs", std::move(list)}, {"utilization", std::move(utilization)}});
  return document;
}

}  // namespace trainyard::report
