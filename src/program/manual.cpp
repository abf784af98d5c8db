#include "program/manual.h"

#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"

namespace trainyard::cli {
namespace {

constexpr const char* kExitCodes =
    ".SH EXIT STATUS\n"
    ".TP\n0\nDone.\n"
    ".TP\n1\nIt could not be done: a file that cannot be read or written, memory that is missing.\n"
    ".TP\n2\nThe request is wrong: an argument, a file that does not say what it should.\n"
    ".TP\n3\nAn error of the program itself, which should be reported.\n";

constexpr const char* kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n.B OMP_NUM_THREADS\nThreads of the kernels; all cores of the process without it.\n"
    ".TP\n.B ONEDNN_MAX_CPU_ISA\nKeeps the kernels to older processors, for instance AVX2.\n"
    ".TP\n.B TRAINYARD_TOKEN\nThe token that\n.B trainyard serve\nwants from its clients.\n";

std::string heading(const std::string& page, const std::string& version) {
  return fmt::format(
      ".\\\" Written by 'trainyard help --man'.\n"
      ".TH {} 1 \"\" \"trainyard {}\" \"User Commands\"\n.nh\n.ad l\n",
      roff_text(page), version);
}

std::string name_section(const std::string& page, const std::string& summary) {
  return fmt::format(".SH NAME\n{} \\- {}\n", roff_text(page), roff_text(summary));
}

bool is(const Json& argument, const char* what) {
  return argument.at(what).as_bool();
}

std::string text_of(const Json& fields, const char* name) {
  const Json* found = fields.find(name);
  if (found == nullptr) return "";
  return found->is_string() ? found->as_string() : found->dump();
}

std::string synopsis(const Json& command) {
  std::string line =
      fmt::format(".SH SYNOPSIS\n.B trainyard {}\n", roff_text(text_of(command, "name")));
  for (const Json& argument : command.at("arguments").items()) {
    if (!is(argument, "positional")) continue;
    const std::string name =
        roff_text(text_of(argument, "name")) + (is(argument, "several") ? " ..." : "");
    line += is(argument, "required") ? fmt::format("\\fI{}\\fR\n", name)
                                     : fmt::format("[\\fI{}\\fR]\n", name);
  }
  return line + "[\\fIOPTIONS\\fR]\n";
}

std::string sentence(const std::string& text) {
  return roff_text(text) + (text.empty() || text.ends_with('.') ? "\n" : ".\n");
}

// What may be given, and what holds without it.
std::string limits(const Json& argument) {
  std::vector<std::string> facts;
  const std::string range = text_of(argument, "range");
  const std::string otherwise = text_of(argument, "default");
  if (!range.empty()) facts.push_back("Range: " + range + ".");
  if (!otherwise.empty()) facts.push_back("Default: " + otherwise + ".");
  return facts.empty() ? "" : roff_text(join(facts, " ")) + "\n";
}

std::string item(const Json& argument) {
  std::string head = fmt::format("\\fB{}\\fR", roff_text(text_of(argument, "name")));
  if (is(argument, "takes_value") && !is(argument, "positional")) {
    head += fmt::format(" \\fI{}\\fR", roff_text(text_of(argument, "type")));
  }
  return fmt::format(".TP\n{}\n{}{}", head, sentence(text_of(argument, "help")), limits(argument));
}

std::string items(const Json& command, bool positional) {
  std::string text;
  for (const Json& argument : command.at("arguments").items()) {
    if (is(argument, "positional") == positional) text += item(argument);
  }
  return text;
}

std::string examples(const std::string& lines) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : split(lines, '\n')) {
    if (!line.empty()) text += roff_text(line) + "\n";
  }
  return text + ".fi\n";
}

std::string command_page(const Json& command, const std::string& version) {
  const std::string page = "trainyard-" + text_of(command, "name");
  std::string text =
      heading(page, version) + name_section(page, text_of(command, "summary")) + synopsis(command);
  if (const std::string list = items(command, true); !list.empty()) {
    text += ".SH ARGUMENTS\n" + list;
  }
  text += ".SH OPTIONS\n" + items(command, false);
  text += ".TP\n\\fB\\-\\-help\\fR\nShows this list.\n";
  return text + examples(text_of(command, "examples")) + kExitCodes +
         ".SH SEE ALSO\n.BR trainyard (1)\n";
}

std::string program_page(const Json& description) {
  std::string text = heading("trainyard", text_of(description, "version"));
  text += name_section("trainyard", "analyze, predict, run, train and serve neural networks");
  text +=
      ".SH SYNOPSIS\n.B trainyard\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n.br\n"
      ".B trainyard help\n[\\fICOMMAND\\fR | \\-\\-json | \\-\\-man \\fIFOLDER\\fR]\n"
      ".SH DESCRIPTION\nDescribes a network once, and analyzes, predicts, runs, trains, serves and "
      "exports it.\n\\fIMODEL\\fR is a built-in name, an .onnx file or a run directory.\n"
      ".B trainyard lab run tour\nshows what the program is for.\n.SH COMMANDS\n";
  for (const Json& command : description.at("commands").items()) {
    text += fmt::format(".TP\n.BR trainyard\\-{} (1)\n{}\n", roff_text(text_of(command, "name")),
                        roff_text(text_of(command, "summary")));
  }
  return text + kEnvironment + kExitCodes;
}

}  // namespace

// Hyphens of flags are typed, so they are no signs that a line may be broken at.
std::string roff_text(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    if (line.starts_with('.') || line.starts_with('\'')) out += "\\&";
    for (const char letter : line) {
      if (letter == '\\') {
        out += "\\e";
      } else if (letter == '-') {
        out += "\\-";
      } else {
        out += letter;
      }
    }
  }
  return out;
}

void write_manual(const Json& description, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_file(folder / "trainyard.1", program_page(description));
  const std::string version = text_of(description, "version");
  for (const Json& command : description.at("commands").items()) {
    write_file(folder / fmt::format("trainyard-{}.1", text_of(command, "name")),
               command_page(command, version));
  }
}

}  // namespace trainyard::cli
