// `trainyard tta`: time to accuracy, over several seeds.
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop_signals.h"
#include "data/image.h"
#include "data/image_grid.h"
#include "program/command.h"
#include "program/train_flags.h"
#include "runs/run_directory.h"
#include "studies/seed_runs.h"
#include "studies/study.h"
#include "studies/view.h"
#include "studies/votes.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kMostSeedRuns = 1000;
constexpr int64_t kSheetColumns = 10;
constexpr int64_t kMostShown = 200;

struct TtaFlags {
  train::TrainConfig config;
  std::set<std::string> given;
  std::string config_file;
  std::string root = "runs";
  std::string name;
  int64_t runs = 5;
  int64_t side_by_side = 1;
  std::optional<double> target;
  std::vector<std::string> imports;
  std::string pictures;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

// A study is found again by what it trains.
std::filesystem::path study_folder(const TtaFlags& flags) {
  runs::require_plain_name(flags.name);
  if (!flags.name.empty()) return std::filesystem::path(flags.root) / flags.name;
  std::string data = flags.config.data.substr(0, flags.config.data.find_first_of(":,"));
  for (char& c : data) c = c == '/' ? '-' : c;
  const std::string model = std::filesystem::path(flags.config.model).stem().string();
  return std::filesystem::path(flags.root) / fmt::format("tta-{}-{}", model, data);
}

// Completes the flags: the training stops at the target.
void check(TtaFlags& flags) {
  TY_REQUIRE(flags.target.has_value(), "say the accuracy to reach, as --target 0.92");
  const int64_t least = flags.imports.empty() ? 1 : 0;
  TY_REQUIRE(least <= flags.runs && flags.runs <= kMostSeedRuns, "--runs is {}, expected {} to {}",
             flags.runs, least, kMostSeedRuns);
  // Seeds are counted up from it.
  TY_REQUIRE(flags.config.seed <= INT64_MAX - kMostSeedRuns, "--seed is {}, expected less",
             flags.config.seed);
  TY_REQUIRE(flags.runs > 0 || flags.pictures.empty(),
             "--pictures are for the networks of --runs, of which there are none");
  flags.config.target_accuracy = *flags.target;
  train::check(flags.config);
}

std::string sheet_of(const data::Dataset& set) {
  const int64_t shown = std::min(kMostShown, set.size());
  data::ImageGrid sheet((shown + kSheetColumns - 1) / kSheetColumns, kSheetColumns, set.shape());
  data::Pixels room;
  for (int64_t i = 0; i < shown; ++i) {
    sheet.place(i / kSheetColumns, i % kSheetColumns, set.pixels(i, room));
  }
  return data::encode_png(sheet.image());
}

// Each training is a process of its own.
void train_and_read(const TtaFlags& flags, const data::Dataset* pictures, TtaFindings& findings) {
  const std::filesystem::path folder = study_folder(flags);
  recipes::SeedRunsOptions options{.program = path_of_this_program(),
                                   .folder = folder,
                                   .side_by_side = flags.side_by_side,
                                   .quiet = flags.quiet};
  for (int64_t i = 0; i < flags.runs; ++i) options.seeds.push_back(flags.config.seed + i);
  const StopSignals signals;
  options.should_stop = [&] { return signals.requested(); };
  if (!flags.quiet) options.note = [](const std::string& text) { std::cerr << text << "\n"; };
  recipes::train_seeds(flags.config, options);
  std::vector<recipes::TtaRun> runs;
  std::vector<std::filesystem::path> paths;
  for (const int64_t seed : options.seeds) {
    // Read back from run directories, whether they were trained now or before.
    paths.push_back(recipes::seed_folder(folder, seed));
    findings.logs.push_back(recipes::read_run_log(paths.back()));
    runs.push_back(recipes::time_to(findings.logs.back(), findings.target));
    runs.back().seed = seed;
  }
  findings.ours = recipes::summarize(std::move(runs));
  if (pictures == nullptr) return;
  findings.generalization = recipes::vote(paths, *pictures, static_cast<int>(flags.config.threads));
  findings.pictures_png = sheet_of(*pictures);
}

int tta_command(TtaFlags& flags, std::ostream& out) {
  if (!flags.config_file.empty()) {
    read_train_settings(flags.config, read_file(flags.config_file), flags.config_file, flags.given);
  }
  check(flags);
  TtaFindings findings{.target = *flags.target};
  // What cannot be read is said before hours of training.
  for (const std::string& file : flags.imports) {
    ImportedLogs imported{.file = file, .logs = recipes::read_training_logs(file), .summary = {}};
    std::vector<recipes::TtaRun> runs;
    for (const recipes::TrainingLog& log : imported.logs) {
      runs.push_back(recipes::time_to(log, findings.target));
    }
    imported.summary = recipes::summarize(std::move(runs));
    findings.imported.push_back(std::move(imported));
  }
  std::unique_ptr<data::Dataset> pictures;
  if (!flags.pictures.empty()) {
    pictures = recipes::open_foreign_pictures(flags.pictures);
    const auto taught = data::open_dataset(flags.config.data, data::Split::kTrain);
    recipes::match_classes(taught->class_names(), *pictures);
  }
  if (flags.runs > 0) train_and_read(flags, pictures.get(), findings);
  const report::Document document = tta_document(findings);
  if (flags.runs > 0) {
    const std::filesystem::path folder = study_folder(flags);
    write_file(folder / "report.html", report::render(document, report::Format::kHtml));
    write_file(folder / "result.json", report::render(document, report::Format::kJson));
    if (!findings.pictures_png.empty()) write_file(folder / "pictures.png", findings.pictures_png);
  }
  out << report::render(document, flags.format);
  if (flags.runs > 0 && flags.format == report::Format::kText) {
    out << fmt::format("\nEverything is in {}\n", study_folder(flags).string());
  }
  return 0;
}

Runner setup_tta(Args& args) {
  auto flags = std::make_shared<TtaFlags>();
  args.option("--target", flags->target, "target test accuracy",
              Range{.least = 0, .most = 1, .without_least = true, .note = "0.92 is 92 %"});
  args.option("--runs", flags->runs,
              "number of training runs, with seeds from --seed; 0: only imported logs");
  args.option("--side-by-side", flags->side_by_side,
              "runs at the same time, which share the processors", between(1, kMostSeedRuns));
  args.repeated("--import", flags->imports,
                "log of another program: CSV with epoch, seconds (or hours), accuracy, and run if "
                "there are several; repeatable");
  args.option("--pictures", flags->pictures,
              "also test the trained networks on these: a folder per class, or a data set");
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.option("--name", flags->name, "name of the study's folder (default: tta-MODEL-DATA)");
  args.option("--config", flags->config_file, "training settings from this YAML file");
  add_train_settings(args, flags->config, {"target_accuracy"});
  args.flag("--quiet", flags->quiet, "print no progress");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return tta_command(*flags, out); };
}

}  // namespace

extern const Command kTta = {
    .name = "tta",
    .group = "Train",
    .summary =
        "Time to accuracy over several seeds: mean and variation, compared with published results",
    .examples =
        "  trainyard tta --runs 5 --target 0.85 --model lenet5 --data fashion-mnist --epochs 10\n"
        "  trainyard tta --runs 5 --target 0.92 --model resnet18-cifar --data cifar10:DIR \\\n"
        "      --epochs 40 --augment crop:4,flip,normalize --pictures my-pictures\n"
        "  trainyard tta --runs 0 --target 0.94 --import theirs.csv --json\n",
    .setup = setup_tta,
};

}  // namespace trainyard::cli
