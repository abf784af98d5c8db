// `trainyard lab`: whole experiments that end in a report.
#include <algorithm>
#include <iostream>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "cli/command.h"
#include "lab/notebook.h"
#include "lab/run_lab.h"

namespace trainyard::cli {
namespace {

struct LabFlags {
  std::string action;
  std::string name;
  lab::Choices choices;
  std::string runs = "runs";
  bool again = false;
  std::string notebook;
  bool blank = false;
  report::Format format = report::Format::kText;
};

// All labs are loaded, which also checks them.
report::Document list_document() {
  report::Document document;
  document.title = "Labs";
  report::Table table({{"lab", report::Align::kLeft},
                       {"what it answers", report::Align::kLeft, 70},
                       {"--quick"},
                       {"full"}});
  document.data["labs"] = Json::array();
  for (const std::string& name : lab::lab_names()) {
    const lab::Lab lab = lab::load_lab(name);
    table.add_row({name, lab::title_of(lab, {}), lab.quick_time, lab.full_time});
    document.data["labs"].push_back(Json::object({{"name", name},
                                                  {"title", lab::title_of(lab, {})},
                                                  {"question", lab::question_of(lab, {})},
                                                  {"quick_time", lab.quick_time},
                                                  {"full_time", lab.full_time}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      "Times are on two cores. `trainyard lab show NAME` shows what a lab runs; `trainyard lab run "
      "NAME --quick` runs it."});
  return document;
}

std::filesystem::path directory_of(const LabFlags& flags, const lab::Lab& lab) {
  return std::filesystem::path(flags.runs) / lab.name;
}

report::Document show_document(const LabFlags& flags, const lab::Lab& lab) {
  report::Document document;
  document.title = lab::title_of(lab, flags.choices);
  document.lead = lab::question_of(lab, flags.choices);
  const Json settings = lab::settings_of(lab, flags.choices);
  document.data =
      Json::object({{"name", lab.name}, {"settings", settings}, {"commands", Json::array()}});
  report::Table values({{"setting", report::Align::kLeft}, {"value", report::Align::kLeft}});
  for (const auto& [name, value] : settings.members()) {
    values.add_row({name, value.is_string() ? value.as_string() : value.dump(-1)});
  }
  if (values.num_rows() > 0) {
    document.blocks.emplace_back(report::Heading{"Settings (--set NAME=VALUE)"});
    document.blocks.emplace_back(std::move(values));
  }
  document.blocks.emplace_back(report::Heading{"Commands"});
  report::Table commands({{"result", report::Align::kLeft},
                          {"command", report::Align::kLeft},
                          {"done", report::Align::kLeft}});
  const std::filesystem::path directory = directory_of(flags, lab);
  // What is done is told by files, so a lab that was stopped goes on where it was.
  for (const lab::Cell& cell : lab::cells_of(lab, flags.choices, directory)) {
    std::vector<std::string> words = {"trainyard"};
    for (const std::string& word : cell.words) words.push_back(shell_word(word));
    const bool done = lab::is_done(cell, directory);
    commands.add_row({cell.step, join(words, " "), done ? "yes" : ""});
    document.data["commands"].push_back(
        Json::object({{"step", cell.step}, {"words", Json::array_of(cell.words)}, {"done", done}}));
  }
  document.blocks.emplace_back(std::move(commands));
  return document;
}

// Runs what is not there yet, and writes the page.
report::Document make_report(const LabFlags& flags, const lab::Lab& lab) {
  // Ctrl-C ends the command under way; results so far stay.
  const StopSignals signals;
  const std::filesystem::path directory = directory_of(flags, lab);
  lab::cells_of(lab, flags.choices, directory);  // what is wrong is said before a folder is made
  std::filesystem::create_directories(directory);
  lab::LabRun run{.lab = &lab,
                  .choices = flags.choices,
                  .directory = directory,
                  .again = flags.again,
                  .log = &std::cerr,
                  .terminal = isatty(STDERR_FILENO) != 0,
                  .should_stop = [&] { return signals.requested(); }};
  // Each command is a process of its own, so that one that fails or leaks does not take the others
  // along.
  run.command = [&](std::span<const std::string> words, const auto& tick) {
    return lab::run_this_program(words, directory / "log.txt", tick);
  };
  const Json data = lab::run_cells(run);
  report::Document document = lab::lab_document(lab, data, flags.format.command);
  // Always written, whatever is printed: it is what a lab is for.
  write_file(directory / "report.html", report::render(document, report::Format::kHtml));
  return document;
}

std::string notebook_of(const LabFlags& flags, const report::Document& document) {
  return lab::notebook(document,
                       {.choices = flags.choices, .name = flags.name, .blank = flags.blank});
}

int run_lab(const LabFlags& flags, const lab::Lab& lab, std::ostream& out) {
  const report::Document document = make_report(flags, lab);
  if (flags.format == report::Format::kNotebook) {
    out << notebook_of(flags, document);
    return 0;
  }
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    out << fmt::format("\nThe report: {}\n", (directory_of(flags, lab) / "report.html").string());
  }
  return 0;
}

int export_lab(const LabFlags& flags, const lab::Lab& lab, std::ostream& out) {
  TY_REQUIRE(flags.notebook.ends_with(".ipynb"),
             "lab export: --notebook FILE.ipynb says where to write");
  write_file(flags.notebook, notebook_of(flags, make_report(flags, lab)));
  report::Document said;
  said.blocks.emplace_back(report::Paragraph{"The notebook: " + flags.notebook});
  said.data = Json::object({{"notebook", flags.notebook}});
  out << report::render(said, flags.format);
  return 0;
}

int lab_command(const LabFlags& flags, std::ostream& out) {
  if (flags.action == "list") {
    TY_REQUIRE(!(flags.format == report::Format::kNotebook), "--format ipynb belongs to 'lab run'");
    out << report::render(list_document(), flags.format);
    return 0;
  }
  const std::vector<std::string> actions = {"list", "show", "run", "export"};
  TY_REQUIRE(std::find(actions.begin(), actions.end(), flags.action) != actions.end(),
             "lab: '{}' is not one of {}.{}", flags.action, join(actions, ", "),
             did_you_mean(flags.action, actions));
  const bool as_notebook = flags.format == report::Format::kNotebook;
  TY_REQUIRE(flags.action == "run" || !as_notebook, "--format ipynb belongs to 'lab run'");
  TY_REQUIRE(flags.action == "export" || as_notebook || !flags.blank,
             "--blank belongs to 'lab export' and 'lab run --format ipynb'");
  TY_REQUIRE(!flags.name.empty(), "lab {}: a name is missing; 'trainyard lab list' lists them",
             flags.action);
  const lab::Lab lab = lab::load_lab(flags.name);
  if (flags.action == "run") return run_lab(flags, lab, out);
  if (flags.action == "export") return export_lab(flags, lab, out);
  out << report::render(show_document(flags, lab), flags.format);
  return 0;
}

Runner setup_lab(Args& args) {
  auto flags = std::make_shared<LabFlags>();
  args.positional("ACTION", flags->action, "list, show, run or export");
  args.optional_positional("NAME", flags->name, "a lab of the list, or a file of your own");
  args.flag("--quick", flags->choices.quick, "a small version, about two minutes on two cores");
  args.repeated("--set", flags->choices.set, "change a setting, as batch=64 or workers=1,2,4");
  args.option("--runs-dir", flags->runs, "the folder of results");
  args.renamed("--runs", "--runs-dir");
  args.flag("--again", flags->again, "measure everything again");
  args.option("--notebook", flags->notebook, "export: the Jupyter notebook to write");
  args.flag("--blank", flags->blank,
            "in a notebook: leave the conclusions to be written by the reader");
  args.own_flags([flags] { return flags->action; },
                 {{{"show", "run", "export"}, {"quick", "set", "runs-dir"}},
                  {{"run", "export"}, {"again", "blank"}},
                  {{"export"}, {"notebook"}}});
  args.format(flags->format, /*notebooks=*/true);
  return [flags](std::ostream& out) { return lab_command(*flags, out); };
}

}  // namespace

extern const Command kLab = {
    .name = "lab",
    .group = "Start here",
    .summary = "Whole experiments that end in a report with charts",
    .examples =
        "  trainyard lab list\n"
        "  trainyard lab run tour\n"
        "  trainyard lab show paleo-scaling\n"
        "  trainyard lab run paleo-scaling --quick --set batch=64\n"
        "  trainyard lab run my.yaml\n"
        "  trainyard lab export staleness --quick --notebook staleness.ipynb\n"
        "  trainyard lab run staleness --quick --format ipynb > staleness.ipynb\n",
    .setup = setup_lab,
};

}  // namespace trainyard::cli
