// `trainyard runs`: what lies in run directories, for the shell.
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "program/command.h"
#include "report/table.h"
#include "runs/settings_view.h"
#include "ui/answers.h"
#include "ui/run_index.h"
#include "ui/run_query.h"

namespace trainyard::cli {
namespace {

struct RunsFlags {
  std::string action;
  std::vector<std::string> words;
  std::vector<std::string> folders;
  report::Format format = report::Format::kText;
};

struct Found {
  Json rows = Json::array();
  std::vector<std::string> differing;
};

Found find_runs(const RunsFlags& flags) {
  std::vector<std::filesystem::path> folders(flags.folders.begin(), flags.folders.end());
  if (folders.empty()) folders = {"runs"};
  ui::RunIndex index(folders);
  index.scan();
  while (index.read_more()) {
  }
  Found found{.differing = index.differing()};
  for (const auto& [id, run] : index.runs()) {
    Json row = ui::row_of(id, run, index, {});
    if (!ui::matches(row, run, flags.words)) continue;
    row["directory"] = printable_line(run.directory.string());
    found.rows.push_back(std::move(row));
  }
  return found;
}

std::string number_text(const Json& row, std::string_view name) {
  const Json* value = row.at("last").find(name);
  return value == nullptr ? "" : fmt::format("{:.5g}", value->as_number());
}

report::Table table_of(const Found& found) {
  using report::Align;
  std::vector<report::Column> columns = {{"run", Align::kLeft}, {"state", Align::kLeft}};
  for (const std::string& name : found.differing) columns.push_back({name, Align::kLeft});
  for (const char* name : {"step", "loss", "best top-1", "seconds"}) columns.push_back({name});
  report::Table table(std::move(columns));
  for (const Json& row : found.rows.items()) {
    std::vector<report::Cell> cells = {row.at("name").as_string(), row.at("state").as_string()};
    for (const std::string& name : found.differing) {
      const Json* value = row.at("settings").find(name);
      cells.emplace_back(value == nullptr ? "-" : report::text_of_setting(*value));
    }
    const Json& best = row.at("best_top1");
    cells.emplace_back(number_text(row, "step"));
    cells.emplace_back(number_text(row, "loss"));
    cells.emplace_back(best.is_null() ? "" : fmt::format("{:.2f} %", 100 * best.as_number()));
    cells.emplace_back(number_text(row, "seconds"));
    table.add_row(std::move(cells));
  }
  return table;
}

int runs_command(const RunsFlags& flags, std::ostream& out) {
  TY_REQUIRE(flags.action == "list" || flags.action == "query",
             "runs: '{}' is no action; expected list or query", flags.action);
  TY_REQUIRE(flags.action == "query" || flags.words.empty(),
             "runs list takes no words; runs query {} asks for some of them", flags.words.front());
  const Found found = find_runs(flags);
  report::Document document;
  document.title = "Runs";
  if (found.rows.items().empty()) {
    document.blocks.emplace_back(report::Paragraph{"No run."});
  } else {
    document.blocks.emplace_back(table_of(found));
  }
  document.data = Json::object({{"runs", found.rows}});
  out << report::render(document, flags.format);
  return 0;
}

Runner setup_runs(Args& args) {
  auto flags = std::make_shared<RunsFlags>();
  args.positional("ACTION", flags->action, "list, or query with words");
  args.optional_positionals("WORD", flags->words,
                            "query: batch=64, 'test_top1>0.9', '#tag', running, part of a name");
  args.repeated("--runs-dir", flags->folders, "a folder of runs, or a run (runs)");
  args.format(flags->format);
  return [flags](std::ostream& out) { return runs_command(*flags, out); };
}

}  // namespace

extern const Command kRuns = {
    .name = "runs",
    .group = "Start here",
    .summary = "List training runs, or search them",
    .examples =
        "  trainyard runs list\n"
        "  trainyard runs list --runs-dir /mnt/shared/runs --json\n"
        "  trainyard runs query batch=64 'test_top1>0.9'\n"
        "  trainyard runs query '#baseline' finished --json\n",
    .setup = setup_runs,
};

}  // namespace trainyard::cli
