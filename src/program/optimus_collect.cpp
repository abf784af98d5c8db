#include "program/optimus_collect.h"

#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "cluster/schedule/loss/curve.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

struct Training {
  int64_t depth = 0;
  int64_t run = 0;

  std::string name() const { return fmt::format("depth{}-run{}", depth, run); }
};

std::vector<std::string> train_arguments(const CollectOptions& options, const Training& training,
                                         const fs::path& runs) {
  if (fs::exists(runs / training.name())) {
    return {"train", "--resume", (runs / training.name()).string(), "--quiet", "--json"};
  }
  return {"train",
          "--model",
          fmt::format("resnet{}-cifar", training.depth),
          "--data",
          options.data,
          "--epochs",
          fmt::format("{}", options.epochs),
          "--batch",
          fmt::format("{}", options.batch),
          "--learning-rate",
          fmt::format("{}", options.learning_rate),
          "--seed",
          fmt::format("{}", training.run),
          "--runs-dir",
          runs.string(),
          "--name",
          training.name(),
          "--quiet",
          "--json"};
}

// The curve with the depth and the run in columns. All runs are of this machine, so a run stands
// where the type of GPU would: the regression then shows how much runs differ by chance.
std::string csv_of(const schedule::Curve& curve, const Training& training) {
  std::string text = fmt::format("{},loss,accuracy,depth,device\n", curve.unit);
  for (size_t i = 0; i < curve.size(); ++i) {
    const bool tested = i < curve.accuracy.size() && curve.accuracy[i] >= 0;
    text += fmt::format("{},{},{},{},run {}\n", curve.k[i], curve.loss[i],
                        tested ? fmt::format("{}", curve.accuracy[i]) : "", training.depth,
                        training.run);
  }
  return text;
}

// An exit code; 0 with the file in place.
int collect_one(const CollectOptions& options, const Training& training, const fs::path& file) {
  const fs::path runs = fs::path(options.folder) / "runs";
  std::ostringstream result;
  const int code = run_program(train_arguments(options, training, runs), result, std::cerr);
  if (code != 0) return code;
  const schedule::Curve curve = schedule::read_curve(runs / training.name());
  write_file(file, csv_of(curve, training));
  return 0;
}

}  // namespace

int collect_curves(const CollectOptions& options, report::Format format, std::ostream& out) {
  fs::create_directories(options.folder);
  report::Document document;
  document.title = "Curves";
  report::Table table(
      {{"curve", report::Align::kLeft}, {"depth"}, {"run"}, {"first loss"}, {"last loss"}});
  Json rows = Json::array();
  for (const int64_t depth : options.depths) {
    for (int64_t run = 1; run <= options.runs; ++run) {
      const Training training{depth, run};
      const fs::path file = fs::path(options.folder) / (training.name() + ".csv");
      if (!fs::exists(file)) {
        const int code = collect_one(options, training, file);
        if (code != 0) return code;
        std::cerr << fmt::format("{}: trained\n", training.name());
      }
      const schedule::Curve curve = schedule::read_curve(file);
      table.add_row({file.string(), report::count_cell(depth), report::count_cell(run),
                     report::fixed_cell(curve.loss.front(), 4),
                     report::fixed_cell(curve.loss.back(), 4)});
      rows.push_back(Json::object({{"file", file.string()},
                                   {"depth", depth},
                                   {"run", run},
                                   {"first_loss", curve.loss.front()},
                                   {"last_loss", curve.loss.back()}}));
    }
  }
  document.blocks.emplace_back(std::move(table));
  document.data["curves"] = std::move(rows);
  out << report::render(document, format);
  return 0;
}

}  // namespace trainyard::cli
