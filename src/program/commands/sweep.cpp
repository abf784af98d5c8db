// `trainyard sweep`: predictions for a cross product of configurations.
#include "cluster/predict/sweep.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cluster/predict/sweep_view.h"
#include "program/command.h"
#include "program/model_argument.h"

namespace trainyard::cli {
namespace {

struct SweepOptions {
  std::string file;
  std::string pareto;
  int64_t top = 0;
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

// People read the fastest; programs get everything.
constexpr int64_t kRowsForPeople = 50;

std::vector<predict::Measure> measures_of(const std::string& names) {
  std::vector<predict::Measure> measures;
  if (names.empty()) return measures;
  for (const std::string& name : split(names, ',')) {
    measures.push_back(predict::measure_from_name(name));
  }
  return measures;
}

std::vector<predict::SweepRow> choose(const SweepOptions& options,
                                      const std::vector<predict::Measure>& measures,
                                      std::vector<predict::SweepRow> rows) {
  if (!measures.empty()) {
    // Networks do different jobs; each has a front of its own.
    std::map<int32_t, std::vector<predict::SweepRow>> by_model;
    for (const predict::SweepRow& row : rows) by_model[row.model].push_back(row);
    std::vector<predict::SweepRow> fronts;
    for (auto& [model, mine] : by_model) {
      const auto front = predict::pareto(std::move(mine), measures);
      fronts.insert(fronts.end(), front.begin(), front.end());
    }
    return fronts;
  }
  const bool people = options.format == report::Format::kText;
  const int64_t most = options.top > 0 ? options.top : people ? kRowsForPeople : 0;
  if (most == 0) return rows;
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.fits != b.fits ? a.fits : a.images_per_s > b.images_per_s;
  });
  if (static_cast<int64_t>(rows.size()) > most) rows.resize(static_cast<size_t>(most));
  return rows;
}

int sweep_command(const SweepOptions& options, std::ostream& out) {
  const std::vector<predict::Measure> measures = measures_of(options.pareto);
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  const predict::SweepSpec spec = predict::read_sweep(read_file(options.file), options.file);
  ModelArgument zoo;
  predict::Networks networks([&](const std::string& name) { return zoo.load(name); });
  for (const std::string& model : spec.models) networks.get(model);
  const Stopwatch sweeping;
  std::vector<predict::SweepRow> rows = predict::run_sweep(spec, catalog, networks);
  std::cerr << fmt::format(
      "{} configurations in {}, {} per second\n", with_commas(static_cast<int64_t>(rows.size())),
      seconds_text(sweeping.seconds()), si(static_cast<double>(rows.size()) / sweeping.seconds()));
  out << report::render(report::sweep_document(spec, choose(options, measures, std::move(rows))),
                        options.format);
  return 0;
}

Runner setup_sweep(Args& args) {
  auto options = std::make_shared<SweepOptions>();
  args.positional("FILE", options->file, "YAML: models, devices, workers, batch, comm, scaling, …");
  args.option(
      "--pareto", options->pareto,
      "show only the Pareto front over these, as time,cost (of time, cost, memory, workers)");
  args.option("--top", options->top,
              "show only this many, fastest first (default: 50 as text, otherwise all)",
              at_least(0));
  args.repeated("--catalog", options->catalogs,
                "a YAML file that adds to or overrides the catalog");
  args.format(options->format);
  return [options](std::ostream& out) { return sweep_command(*options, out); };
}

}  // namespace

extern const Command kSweep = {
    .name = "sweep",
    .group = "Predict",
    .summary = "Predict a cross product of networks, devices, workers and batches",
    .examples =
        "  trainyard sweep grid.yaml --pareto time,cost\n"
        "  trainyard sweep grid.yaml --format csv > grid.csv\n"
        "  trainyard sweep grid.yaml --top 10\n",
    .setup = setup_sweep,
};

}  // namespace trainyard::cli
