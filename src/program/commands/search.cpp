// `trainyard search`: tries settings of a training and says which do best.
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stop_signals.h"
#include "program/command.h"
#include "program/train_flags.h"
#include "runs/run_directory.h"
#include "studies/search/view.h"
#include "train/training_set.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kMostTrials = 10'000;
constexpr int64_t kMostAtOnce = 256;

struct SearchFlags {
  train::TrainConfig config;
  std::set<std::string> given;
  std::string config_file;
  std::string root = "runs";
  std::string name;
  int64_t search_seed = 1;
  recipes::SearchOptions options;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

void check_search(const SearchFlags& flags) {
  TY_REQUIRE(!flags.options.space.empty(),
             "say what to try, as --space learning-rate=log:1e-3..1e-1,optimizer=sgd|adamw");
  TY_REQUIRE(flags.config.workers == 1 && flags.config.servers == 0,
             "search trains each trial in one process; --side-by-side trains several at once");
  runs::require_plain_name(flags.name);
  train::check(flags.config);
}

int search_command(SearchFlags& flags, std::ostream& out) {
  if (!flags.config_file.empty()) {
    read_train_settings(flags.config, read_file(flags.config_file), flags.config_file, flags.given);
  }
  train::settle_for_data(flags.config);
  check_search(flags);
  train::resolve_paths(flags.config);
  recipes::SearchOptions& options = flags.options;
  options.program = path_of_this_program();
  options.seed = static_cast<uint64_t>(flags.search_seed);
  options.folder =
      std::filesystem::path(flags.root) /
      (flags.name.empty() ? "search-" + std::filesystem::path(flags.config.model).stem().string()
                          : flags.name);
  const StopSignals signals;
  options.should_stop = [&] { return signals.requested(); };
  if (!flags.quiet) options.note = [](const std::string& text) { std::cerr << text << "\n"; };
  const recipes::SearchResult result = recipes::search(flags.config, options);
  const report::Document document = search_document(result, options.folder);
  write_file(options.folder / "report.html", report::render(document, report::Format::kHtml));
  write_file(options.folder / "result.json", report::render(document, report::Format::kJson));
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    out << fmt::format("\nEverything is in {}\n", options.folder.string());
  }
  return result.best ? 0 : 1;
}

Runner setup_search(Args& args) {
  auto flags = std::make_shared<SearchFlags>();
  args.option("--space", flags->options.space,
              "what to try: settings of train with ranges LOW..HIGH (log:LOW..HIGH by ratios) or "
              "choices A|B, separated by commas");
  args.option("--trials", flags->options.trials, "number of trials; with grid an upper limit",
              between(1, kMostTrials));
  args.choice("--scheduler", flags->options.scheduler, recipes::scheduler_names(),
              "random points, a grid, or asha (random points with early stopping of the worst)");
  args.option("--values", flags->options.grid_values, "grid: values per range",
              between(1, kMostTrials));
  args.option("--eta", flags->options.eta, "asha: one in this many trials continues at each rung",
              between(2, kMostTrials));
  args.option("--side-by-side", flags->options.side_by_side,
              "trials at the same time, which share the processors", between(1, kMostAtOnce));
  args.option("--search-seed", flags->search_seed, "random seed for the points to try",
              at_least(0));
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.option("--name", flags->name, "name of the search's folder (default: search-MODEL)");
  args.option("--config", flags->config_file, "training settings from this YAML file");
  add_train_settings(args, flags->config, {"stop_epoch"});
  args.flag("--quiet", flags->quiet, "print no progress");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return search_command(*flags, out); };
}

}  // namespace

extern const Command kSearch = {
    .name = "search",
    .group = "Train",
    .summary = "Search for good training settings, several runs at a time",
    .examples =
        "  trainyard search --space 'learning-rate=log:1e-3..1e-1,optimizer=sgd|adamw' \\\n"
        "      --trials 20 --model lenet5 --data fashion-mnist --epochs 3\n"
        "  trainyard search --space 'learning-rate=log:1e-4..1e-1,weight-decay=log:1e-5..1e-2' \\\n"
        "      --trials 20 --scheduler asha --side-by-side 2 --model resnet20-cifar \\\n"
        "      --data cifar10:DIR --epochs 27\n"
        "  trainyard search --space 'batch=32|64|128,momentum=0.8..0.95' --scheduler grid --json\n",
    .setup = setup_search,
};

}  // namespace trainyard::cli
