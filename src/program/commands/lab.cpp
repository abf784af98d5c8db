// `trainyard lab`: whole experiments that end in a report.
#include <algorithm>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "program/command.h"
#include "program/lab/lab_report.h"
#include "program/lab/listings.h"
#include "program/lab/notebook.h"
#include "program/lab/run_lab.h"
#include "program/ui_process.h"

namespace trainyard::cli {
namespace {

constexpr std::string_view kAllProblems = "all";

struct LabFlags {
  std::string action;
  std::string name;
  lab::Choices choices;
  bool quick = false;
  std::string scale = "full";
  std::string runs = "runs";
  bool again = false;
  bool allow_exec = false;
  bool ui = false;
  std::string notebook;
  bool blank = false;
  std::string course;  // a problem, or all of them
  std::string page;
  report::Format format = report::Format::kText;
};

std::filesystem::path directory_of(const LabFlags& flags, const std::string& name) {
  return std::filesystem::path(flags.runs) / name;
}

// One page for each choice of settings; report.html is the last that was made.
std::filesystem::path write_page(const std::filesystem::path& directory,
                                 const report::Document& document, const lab::Choices& choices,
                                 const Json& settings) {
  std::string name(lab::scale_name(choices.scale));
  if (!choices.set.empty()) name += fmt::format("-{:08x}", hash_text(settings.dump(-1)) >> 32);
  const std::filesystem::path page = std::filesystem::path("reports") / (name + ".html");
  std::filesystem::create_directories(directory / "reports");
  write_file(directory / page, report::render(document, report::Format::kHtml));
  const std::filesystem::path last = directory / "report.html";
  std::filesystem::remove(last);
  std::filesystem::create_symlink(page, last);
  return last;
}

// Where a lab may write: its own folder, and what every program needs.
std::vector<std::filesystem::path> writable(const std::filesystem::path& directory) {
  return {directory, std::filesystem::temp_directory_path(), "/dev"};
}

// A file may come from a stranger: its commands write where results belong, and nowhere else.
Json run_confined(const lab::LabRun& run) {
  const auto confined = [&] {
    TY_REQUIRE(confine_writes(writable(run.directory)),
               "this system has no means to keep the commands of a lab from writing outside of {} "
               "(Landlock of Linux 5.13 or later); read the file, and --allow-exec runs it freely",
               run.directory.string());
    return lab::run_cells(run);
  };
  // A thread of its own: this one writes pages and notebooks afterwards.
  return std::async(std::launch::async, confined).get();
}

// Runs what is not there yet. Ctrl-C ends the command under way; results so far stay.
Json run_what_is_missing(const LabFlags& flags, const lab::Lab& lab, const lab::Choices& choices) {
  const StopSignals signals;
  const std::filesystem::path directory = directory_of(flags, lab.name);
  // What is wrong is said before a folder is made.
  const std::vector<lab::Cell> cells = lab::cells_of(lab, choices, directory);
  const bool free = lab.built_in || flags.allow_exec;
  if (!free) lab::require_no_programs(cells);
  std::filesystem::create_directories(directory);
  lab::LabRun run{.lab = &lab,
                  .choices = choices,
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
  return free ? lab::run_cells(run) : run_confined(run);
}

// The page is always written, whatever is printed: it is what a lab is for.
report::Document make_report(const LabFlags& flags, const lab::Lab& lab) {
  const Json data = run_what_is_missing(flags, lab, flags.choices);
  report::Document document = lab::lab_document(lab, data, flags.format.command);
  write_page(directory_of(flags, lab.name), document, flags.choices, data.at("settings"));
  return document;
}

// The choices that concern this lab: a problem may need labs with other settings.
lab::Choices choices_for(const lab::Lab& lab, const lab::Choices& given) {
  lab::Choices choices = given;
  if (choices.scale == lab::Scale::kCourse && lab.course.empty()) {
    choices.scale = lab::Scale::kFull;
  }
  std::erase_if(choices.set, [&](const std::string& assignment) {
    const std::string name = assignment.substr(0, assignment.find('='));
    return std::none_of(lab.settings.begin(), lab.settings.end(),
                        [&](const auto& setting) { return setting.first == name; });
  });
  return choices;
}

report::Document make_course_report(const LabFlags& flags) {
  const lab::CourseProblem& problem = lab::course_problem(flags.course);
  std::vector<lab::Lab> labs;
  for (const std::string& name : lab::labs_of(problem)) labs.push_back(lab::load_lab(name));
  TY_REQUIRE(!labs.empty(), "no lab answers questions of {} yet", problem.id);
  for (const std::string& assignment : flags.choices.set) {
    const bool used = std::any_of(labs.begin(), labs.end(), [&](const lab::Lab& lab) {
      return !choices_for(lab, {.set = {assignment}}).set.empty();
    });
    TY_REQUIRE(used, "--set {}: no lab of {} has this setting", assignment, problem.id);
  }
  std::vector<lab::LabResult> results;
  for (const lab::Lab& lab : labs) {
    const lab::Choices choices = choices_for(lab, flags.choices);
    Json data = run_what_is_missing(flags, lab, choices);
    results.push_back(
        {&lab, lab::cells_of(lab, choices, directory_of(flags, lab.name)), std::move(data)});
  }
  report::Document document = lab::course_document(problem, results, flags.format.command);
  write_page(directory_of(flags, problem.id), document, flags.choices, document.data);
  return document;
}

report::Document made_document(const LabFlags& flags) {
  return flags.course.empty() ? make_report(flags, lab::load_lab(flags.name))
                              : make_course_report(flags);
}

std::string notebook_of(const LabFlags& flags, const report::Document& document) {
  return lab::notebook(document, {.choices = flags.choices,
                                  .name = flags.course.empty() ? flags.name : flags.course,
                                  .course = !flags.course.empty(),
                                  .runs = std::filesystem::absolute(flags.runs).string(),
                                  .blank = flags.blank});
}

int run_lab(const LabFlags& flags, std::ostream& out) {
  std::optional<UiProcess> ui;
  if (flags.ui) ui.emplace(flags.runs);
  const report::Document document = made_document(flags);
  if (flags.format == report::Format::kNotebook) {
    out << notebook_of(flags, document);
    return 0;
  }
  out << report::render(document, flags.format);
  if (flags.format == report::Format::kText) {
    const std::string name = flags.course.empty() ? lab::load_lab(flags.name).name : flags.course;
    out << fmt::format("\nThe report: {}\n", (directory_of(flags, name) / "report.html").string());
  }
  return 0;
}

int export_lab(const LabFlags& flags, std::ostream& out) {
  TY_REQUIRE(flags.notebook.ends_with(".ipynb"),
             "lab export: --notebook FILE.ipynb says where to write");
  write_file(flags.notebook, notebook_of(flags, made_document(flags)));
  report::Document said;
  said.blocks.emplace_back(report::Paragraph{"The notebook: " + flags.notebook});
  said.data = Json::object({{"notebook", flags.notebook}});
  out << report::render(said, flags.format);
  return 0;
}

// Replaces what stands behind the marker of the page.
void write_labs_page(const std::string& file) {
  const std::string page = read_file(file);
  const size_t begin = page.find(lab::kPageMarker);
  TY_REQUIRE(begin != std::string::npos, "{} has no line '{}' where the labs begin", file,
             lab::kPageMarker);
  write_file(file, page.substr(0, begin) + lab::labs_page());
}

int list_labs(const LabFlags& flags, std::ostream& out) {
  if (!flags.page.empty()) write_labs_page(flags.page);
  TY_REQUIRE(!(flags.format == report::Format::kNotebook), "--format ipynb belongs to 'lab run'");
  const report::Document document = flags.course.empty() ? lab::list_document()
                                    : flags.course == kAllProblems
                                        ? lab::course_list_document("")
                                        : lab::course_list_document(flags.course);
  out << report::render(document, flags.format);
  return 0;
}

int lab_command(const LabFlags& flags, std::ostream& out) {
  if (flags.action == "list") return list_labs(flags, out);
  const std::vector<std::string> actions = {"list", "show", "run", "export"};
  TY_REQUIRE(std::find(actions.begin(), actions.end(), flags.action) != actions.end(),
             "lab: '{}' is not one of {}.{}", flags.action, join(actions, ", "),
             did_you_mean(flags.action, actions));
  const bool as_notebook = flags.format == report::Format::kNotebook;
  TY_REQUIRE(flags.action == "run" || !as_notebook, "--format ipynb belongs to 'lab run'");
  TY_REQUIRE(flags.action == "export" || as_notebook || !flags.blank,
             "--blank belongs to 'lab export' and 'lab run --format ipynb'");
  TY_REQUIRE(!flags.name.empty() || !flags.course.empty(),
             "lab {}: a name is missing; 'trainyard lab list' lists them", flags.action);
  TY_REQUIRE(flags.name.empty() || flags.course.empty(),
             "lab {}: '{}' is a lab and --course {} a problem of several; give one of them",
             flags.action, flags.name, flags.course);
  TY_REQUIRE(flags.course != kAllProblems,
             "--course needs a problem, as hw7-p2; 'trainyard lab list --course' lists them");
  if (flags.action == "run") return run_lab(flags, out);
  if (flags.action == "export") return export_lab(flags, out);
  const lab::Lab lab = lab::load_lab(flags.name);
  out << report::render(lab::show_document(lab, flags.choices, directory_of(flags, lab.name)),
                        flags.format);
  return 0;
}

Runner setup_lab(Args& args) {
  auto flags = std::make_shared<LabFlags>();
  args.positional("ACTION", flags->action, "list, show, run or export");
  args.optional_positional("NAME", flags->name, "a lab from the list, or your own file");
  args.flag("--quick", flags->quick, "a small version, about two minutes on two cores");
  args.choice("--scale", flags->scale, {"quick", "full", "course"},
              "quick: a small version; course: the configuration that the course asks for");
  args.option("--course", flags->course,
              "run the labs of a course problem, as hw7-p2; with list: show all questions with "
              "labs and sections");
  args.value_when_bare("--course", std::string(kAllProblems));
  args.assignments("--set", flags->choices.set,
                   "change settings, as batch=64 or workers=1,2,4 epochs=3");
  args.option("--runs-dir", flags->runs, "the folder of results");
  args.renamed("--runs", "--runs-dir");
  args.flag("--again", flags->again, "measure everything again");
  args.flag("--allow-exec", flags->allow_exec,
            "your own file: let its commands start programs and write anywhere");
  args.flag("--ui", flags->ui, "show its runs in a browser while it works; prints the address");
  args.option("--notebook", flags->notebook, "export: the Jupyter notebook to write");
  args.option("--page", flags->page, "list: bring the page of labs (docs/labs.md) up to date");
  args.flag("--blank", flags->blank,
            "in a notebook: leave the conclusions to be written by the reader");
  args.own_flags([flags] { return flags->action; },
                 {{{"show", "run", "export"}, {"quick", "scale", "set", "runs-dir"}},
                  {{"list", "run", "export"}, {"course"}},
                  {{"list"}, {"page"}},
                  {{"run"}, {"ui"}},
                  {{"run", "export"}, {"again", "blank", "allow-exec"}},
                  {{"export"}, {"notebook"}}});
  args.format(flags->format, /*notebooks=*/true);
  return [flags](std::ostream& out) {
    TY_REQUIRE(!flags->quick || flags->scale == "full",
               "lab: --quick is --scale quick; give one of them");
    flags->choices.scale = lab::scale_from_name(flags->quick ? "quick" : flags->scale);
    return lab_command(*flags, out);
  };
}

}  // namespace

extern const Command kLab = {
    .name = "lab",
    .group = "Start here",
    .summary = "Run a whole experiment that ends in a report with charts",
    .examples =
        "  trainyard lab list\n"
        "  trainyard lab run tour\n"
        "  trainyard lab show paleo-scaling\n"
        "  trainyard lab run paleo-scaling --quick --set batch=64 workers=1,2,4\n"
        "  trainyard lab run batch-augmentation --scale course\n"
        "  trainyard lab run my.yaml\n"
        "  trainyard lab list --course\n"
        "  trainyard lab run --course hw7-p2 --quick\n"
        "  trainyard lab export --course hw7-p1 --quick --notebook hw7_p1.ipynb\n"
        "  trainyard lab export staleness --quick --notebook staleness.ipynb\n"
        "  trainyard lab run staleness --quick --format ipynb > staleness.ipynb\n",
    .setup = setup_lab,
};

}  // namespace trainyard::cli
