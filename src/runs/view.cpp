#include "runs/view.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "report/document.h"
#include "runs/confusion.h"
#include "runs/metrics.h"
#include "runs/settings_view.h"

namespace trainyard::report {
namespace {

// How well trained networks tell the classes apart.
struct TestedRun {
  std::string name;
  Confusion confusion;  // of its last test
};

constexpr size_t kShownClasses = 20;

std::vector<std::string> names_of(const Confusion& confusion) {
  std::vector<std::string> names;
  for (const ClassCounts& c : confusion.classes()) names.push_back(c.name);
  return names;
}

Table recall_table(std::span<const TestedRun> runs) {
  std::vector<Column> columns = {{"recall of", Align::kLeft}};
  for (const TestedRun& run : runs) columns.push_back({run.name});
  Table table(std::move(columns));
  for (size_t c = 0; c < runs[0].confusion.size(); ++c) {
    std::vector<Cell> row = {runs[0].confusion.classes()[c].name};
    for (const TestedRun& run : runs) {
      const ClassCounts& counts = run.confusion.classes()[c];
      row.push_back(part_cell(counts.correct, counts.images));
    }
    table.add_row(std::move(row));
  }
  return table;
}

void add_at_length(const Confusion& confusion, std::vector<Block>& blocks) {
  if (confusion.size() > kShownClasses) {
    blocks.emplace_back(Paragraph{fmt::format("The {} classes of {} with the lowest recall.",
                                              kShownClasses, confusion.size())});
  }
  blocks.emplace_back(confusion.classes_table(kShownClasses));
  if (Table pairs = confusion.confused_table(); pairs.num_rows() > 0) {
    blocks.emplace_back(Paragraph{"Taken for another most often:"});
    blocks.emplace_back(std::move(pairs));
  }
}

// A heat map of the mistakes of each; of one run its classes and what it confuses, of several with
// the same classes their recalls side by side. Nothing without runs.
std::vector<Block> class_blocks(std::span<const TestedRun> runs) {
  std::vector<Block> blocks;
  if (runs.empty()) return blocks;
  blocks.emplace_back(Heading{"Classes in the last test"});
  for (const TestedRun& run : runs) {
    if (run.confusion.is_wide()) continue;
    blocks.emplace_back(
        run.confusion.mistakes_chart(fmt::format("Mistakes of {} in the last test", run.name)));
  }
  const auto same_classes = [&](const TestedRun& run) {
    return names_of(run.confusion) == names_of(runs[0].confusion);
  };
  if (runs.size() == 1) {
    add_at_length(runs[0].confusion, blocks);
  } else if (!runs[0].confusion.is_wide() && std::ranges::all_of(runs, same_classes)) {
    blocks.emplace_back(recall_table(runs));
  }
  // Wide matrices of different classes leave nothing below the heading.
  if (blocks.size() == 1) blocks.clear();
  return blocks;
}

struct Run {
  std::string name;
  Json config;
  Json machine;
  std::vector<std::string> classes;  // names; empty: not known
  std::vector<Json> steps;
  std::vector<Json> epochs;        // empty: none is finished
  std::vector<Json> samples = {};  // of utilization
  Json memory = {};                // null: not recorded
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
  const std::filesystem::path memory = directory / "memory.json";
  if (std::filesystem::exists(memory)) run.memory = Json::parse(read_file(memory), memory.string());
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

// One value far above the others would leave a linear axis with nothing to see.
Chart with_fitting_axis(Chart chart) {
  constexpr double kFar = 20;  // times the median
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) values.push_back(point.y);
  }
  if (values.empty()) return chart;
  std::sort(values.begin(), values.end());
  if (values.front() <= 0 || values.back() <= kFar * values[values.size() / 2]) return chart;
  chart.y.log = true;
  chart.caption = "The axis is logarithmic, as some values are far above the others.";
  return chart;
}

// A number of every step would be a cloud and a large file: means of neighbors are enough.
Chart step_chart(std::span<const Run> runs, std::string title, Axis axis, std::string_view key) {
  constexpr size_t kMostMeans = 200;
  Chart chart{.kind = ChartKind::kLine,
              .title = std::move(title),
              .x = {.name = "step"},
              .y = std::move(axis),
              .caption = "Means over neighboring steps."};
  for (const Run& run : runs) {
    Series series{run.name, Origin::kMeasured, {}, run.name};
    // At most kMostMeans means; what does not fill the last one is left out.
    const size_t stride = (run.steps.size() + kMostMeans - 1) / kMostMeans;
    for (size_t i = 0; i + stride <= run.steps.size() && stride > 0; i += stride) {
      double sum = 0;
      for (size_t k = 0; k < stride; ++k) sum += number(run.steps[i + k], key);
      add_point(series, number(run.steps[i + stride - 1], "step"),
                sum / static_cast<double>(stride));
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart speed_chart(std::span<const Run> runs) {
  Chart chart{.kind = ChartKind::kLine,
              .title = "Throughput",
              .x = {.name = "epoch"},
              .y = {.name = "images/s"}};
  for (const Run& run : runs) {
    Series series{run.name, Origin::kMeasured, {}, run.name};
    for (const Json& epoch : run.epochs) {
      add_point(series, number(epoch, "epoch"), number(epoch, "images_per_s"));
    }
    if (series.points.size() > 1) chart.series.push_back(std::move(series));
  }
  return chart;
}

// The settings but for those that say which repetition it is and how it was carried out.
std::string repeated_settings(const Run& run) {
  std::string text;
  for (const auto& [key, value] : run.config.members()) {
    const bool own = key == "seed" || key == "threads" || key == "data_workers";
    if (!own) text += key + " " + value.dump(-1) + "\n";
  }
  return text;
}

// The mean of runs that differ in their seeds alone, with a standard deviation up and down; without
// points: the runs differ otherwise, or are two or fewer.
Chart seeds_chart(std::span<const Run> runs, std::string title, std::string unit,
                  std::string_view key, double factor) {
  constexpr size_t kFewest = 3;
  Chart chart{.kind = ChartKind::kLine,
              .title = std::move(title),
              .x = {.name = "epoch"},
              .y = {.name = std::move(unit)},
              .caption = "Mean and sample standard deviation over the seeds."};
  const bool repeated =
      runs.size() >= kFewest && std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
        return repeated_settings(run) == repeated_settings(runs[0]);
      });
  if (!repeated) return chart;
  Series series{fmt::format("mean of {} seeds", runs.size()), Origin::kMeasured, {}};
  for (size_t e = 0;; ++e) {
    double sum = 0;
    double squares = 0;
    for (const Run& run : runs) {
      const double value = e < run.epochs.size() ? factor * number(run.epochs[e], key) : kAbsent;
      sum += value;
      squares += value * value;
    }
    const auto count = static_cast<double>(runs.size());
    const double mean = sum / count;
    // Some run has not got so far, or has no such number.
    if (std::isnan(mean)) break;
    const double variance = std::max(0.0, (squares - count * mean * mean) / (count - 1));
    const double deviation = std::sqrt(variance);
    series.points.push_back({.x = number(runs[0].epochs[e], "epoch"),
                             .y = mean,
                             .low = mean - deviation,
                             .high = mean + deviation});
  }
  if (!series.points.empty()) chart.series.push_back(std::move(series));
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

// Whether these settings are the same; what a run of an older version lacks counts as that.
bool share_settings(std::span<const Run> runs, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) {
    return std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
      const Json* own = run.config.find(key);
      const Json* first = runs[0].config.find(key);
      return own == nullptr || first == nullptr || own->dump(-1) == first->dump(-1);
    });
  });
}

// Whether the losses of the runs are the same function of the network's outputs. Tests of
// cross-entropy are plain, however it was trained.
bool share_loss(std::span<const Run> runs, bool of_test) {
  if (!share_settings(runs, {"loss", "delta", "temperature", "focus"})) return false;
  const Json* loss = runs[0].config.find("loss");
  if (of_test && loss != nullptr && loss->dump(-1) == "\"cross-entropy\"") return true;
  return share_settings(
      runs, {"label_smoothing", "class_weights", "mixup", "cutmix", "auxiliary_weight"});
}

// The best of a column is marked among runs on the same data; of times, on the same machine too; of
// losses, where they are of one kind.
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
  const bool same_train_loss = share_loss(runs, /*of_test=*/false);
  const bool same_test_loss = share_loss(runs, /*of_test=*/true);
  const auto column = [&](std::string name, Best best) {
    const bool timed = name == "images/s" || name == "time";
    const bool comparable = same_data && (same_host || !timed) &&
                            (same_train_loss || name != "train loss") &&
                            (same_test_loss || name != "test loss");
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

// What a step takes, and what computing again saved of it.
std::string memory_text(const Run& run) {
  const auto bytes = [&](std::string_view key) { return bytes_text(number(run.memory, key)); };
  std::string text = fmt::format(
      "{}: a step is planned to take {}: {} of activations, gradients and scratch space, {} of "
      "parameters and optimizer state, {} of constants and {} of batches.",
      run.name, bytes("step"), bytes("values"), bytes("states"), bytes("constants"),
      bytes("batches"));
  if (run.memory.find("limit") != nullptr) {
    text += fmt::format(
        " The limit is {}. Without it a step would take {}; {} of {} blocks are recomputed in the "
        "backward pass, {:.1f} % more operations.",
        bytes("limit"), bytes("step_without_limit"), number(run.memory, "recomputed_blocks"),
        number(run.memory, "blocks"), 100 * number(run.memory, "more_flops"));
  }
  return text;
}

std::vector<Block> memory_blocks(std::span<const Run> runs) {
  std::vector<Block> blocks;
  for (const Run& run : runs) {
    if (run.memory.is_null()) continue;
    if (blocks.empty()) blocks.emplace_back(Heading{"Memory"});
    blocks.emplace_back(Paragraph{memory_text(run)});
  }
  return blocks;
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
  add(seeds_chart(runs, "Accuracy over seeds", "top-1 %", "test_top1", 100));
  add(with_fitting_axis(curves(runs, "Loss", "loss", "test_loss", "train_loss", 1)));
  add(seeds_chart(runs, "Loss of the test over seeds", "loss", "test_loss", 1));
  add(step_chart(runs, "Loss of training, step by step", {.name = "loss", .log = true}, "loss"));
  add(step_chart(runs, "Learning rate", {.name = "learning rate"}, "learning_rate"));
  add(step_chart(runs, "Norm of the gradients, before clipping", {.name = "norm", .log = true},
                 "gradient_norm"));
  add(speed_chart(runs));
  add(time_chart(runs));
  for (Block& block : memory_blocks(runs)) document.blocks.push_back(std::move(block));
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
