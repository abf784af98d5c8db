// `trainyard report DIR…`: what training runs left behind, as a page.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "program/command.h"
#include "rl/agents/runs_view.h"
#include "runs/view.h"

namespace trainyard::cli {
namespace {

struct ReportFlags {
  std::vector<std::string> directories;
  std::string window;
  report::Format format = report::Format::kText;
};

int report_command(const ReportFlags& flags, std::ostream& out) {
  const std::vector<std::filesystem::path> directories(flags.directories.begin(),
                                                       flags.directories.end());
  std::optional<report::Window> window;
  if (!flags.window.empty()) window = report::parse_window(flags.window);
  const bool any_rl = std::ranges::any_of(directories, report::is_rl_run);
  TY_REQUIRE(!any_rl || !window, "--window is for runs that record utilization, which rl does not");
  report::Document document =
      any_rl ? report::rl_runs_document(directories) : report::runs_document(directories, window);
  std::get<report::Provenance>(document.blocks.back()).command = flags.format.command;
  out << report::render(document, flags.format);
  // The page of one run belongs to what the run left; one that is there already is not overwritten.
  if (directories.size() == 1 && flags.format == report::Format::kText) {
    const std::filesystem::path page = directories[0] / "report.html";
    if (std::filesystem::exists(page)) {
      out << "\nAn earlier report is kept; a new one: trainyard report " << directories[0].string()
          << " --html " << page.string() << "\n";
    } else {
      write_file(page, report::render(document, report::Format::kHtml));
      out << "\nThe report: " << page.string() << "\n";
    }
  }
  return 0;
}

Runner setup_report(Args& args) {
  auto flags = std::make_shared<ReportFlags>();
  args.positionals("DIR", flags->directories,
                   "run directories of 'trainyard train' or 'trainyard rl train'");
  args.option(
      "--window", flags->window,
      "average utilization from second A to second B, as 10:190 (default: over the whole run)");
  args.format(flags->format);
  return [flags](std::ostream& out) { return report_command(*flags, out); };
}

}  // namespace

extern const Command kReport = {
    .name = "report",
    .group = "Start here",
    .summary = "Curves and figures of training runs, side by side",
    .examples =
        "  trainyard report runs/lenet5-fashion-mnist-20260101-120000\n"
        "  trainyard report runs/small-batch runs/large-batch --html compared.html\n"
        "  trainyard report runs/small-batch --window 10:190\n"
        "  trainyard report runs/breakout-seed1 runs/breakout-seed2 runs/breakout-seed3\n",
    .setup = setup_report,
};

}  // namespace trainyard::cli
