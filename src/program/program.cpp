// Finds the command, runs it, and turns every error that reaches the top into a message and an exit
// code.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <sstream>

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "program/command.h"
#include "program/manual.h"
#include "program/version.h"

namespace trainyard::cli {
namespace {

// {program, version, commands: [{name, group, summary, examples, arguments}]}; arguments are those
// of Args::description().
Json description() {
  Json commands = Json::array();
  for (const Command* command : all_commands()) {
    Args args(command->name, command->summary, command->examples);
    command->setup(args);
    args.options_file();
    commands.push_back(Json::object({{"name", command->name},
                                     {"group", command->group},
                                     {"summary", command->summary},
                                     {"examples", command->examples},
                                     {"arguments", args.description()}}));
  }
  return Json::object(
      {{"program", "trainyard"}, {"version", kVersionText}, {"commands", commands}});
}

constexpr int kDone = 0;
constexpr int kCouldNot = 1;
constexpr int kWrongRequest = 2;
constexpr int kOurBug = 3;

std::string overview() {
  std::string text =
      "trainyard: describe a network once; analyze, predict, run, train and export it.\n"
      "\nUsage: trainyard COMMAND [ARGUMENTS…]     MODEL is a built-in name, an .onnx file "
      "or a run directory\n"
      "New here? trainyard lab run tour\n";
  // Each group once, in the order of its first command.
  std::vector<std::string_view> groups;
  for (const Command* command : all_commands()) {
    if (std::find(groups.begin(), groups.end(), command->group) == groups.end()) {
      groups.push_back(command->group);
    }
  }
  for (const std::string_view group : groups) {
    text += fmt::format("\n{}\n", group);
    for (const Command* command : all_commands()) {
      if (command->group != group) continue;
      text += fmt::format("  {:<18} {}\n", command->name, command->summary);
    }
  }
  return text +
         "\n'trainyard help COMMAND' shows the arguments and examples of one command, 'trainyard "
         "help --json'\n"
         "all of them for programs, and 'trainyard help --man FOLDER' writes manual pages.\n";
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : all_commands()) {
    if (command->name == name) return *command;
    names.emplace_back(command->name);
  }
  throw_error("there is no command '{}'.{} 'trainyard --help' lists them", name,
              did_you_mean(name, names));
}

// What the library refuses names settings; who typed a command knows them as flags.
int run_in_flags(const Args& args, const Runner& runner, std::ostream& out) {
  try {
    return runner(out);
  } catch (const Error& error) {
    throw Error(args.with_flags(error.what()));
  } catch (const Failure& failure) {
    throw Failure(args.with_flags(failure.what()));
  }
}

int dispatch(std::span<const std::string> arguments, std::ostream& out) {
  const std::string first = arguments.empty() ? "--help" : arguments[0];
  if (first == "help" && arguments.size() == 2 && arguments[1] == "--json") {
    out << description().dump() << "\n";
    return kDone;
  }
  if (first == "help" && arguments.size() == 3 && arguments[1] == "--man") {
    write_manual(description(), arguments[2]);
    return kDone;
  }
  if (first == "--help" || first == "-h" || (first == "help" && arguments.size() == 1)) {
    out << overview();
    return kDone;
  }
  const bool help = first == "help";
  const Command& command = find_command(help                   ? arguments[1]
                                        : first == "--version" ? "version"
                                                               : first);
  Args args(command.name, command.summary, command.examples);
  const Runner runner = command.setup(args);
  args.options_file();
  if (help || !args.parse(arguments.subspan(1))) {
    out << args.help();
    return kDone;
  }
  if (args.html_file().empty()) return run_in_flags(args, runner, out);
  std::ostringstream page;
  const int code = run_in_flags(args, runner, page);
  write_file(args.html_file(), page.str());
  out << args.html_file() << "\n";
  return code;
}

}  // namespace

int run_program(std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  try {
    const int code = dispatch(arguments, out);
    out.flush();
    if (out.good()) return code;
    err << "trainyard: the output could not be written\n";
    return kCouldNot;
  } catch (const Error& error) {
    err << "trainyard: " << printable(error.what()) << "\n";
    return kWrongRequest;
  } catch (const Failure& failure) {
    err << "trainyard: " << printable(failure.what()) << "\n";
    return kCouldNot;
  } catch (const std::filesystem::filesystem_error& failure) {
    const std::string path = failure.path1().string();
    err << "trainyard: " << printable(path) << ": " << failure.code().message() << "\n";
    // No file can have such a name, however often one tries.
    return failure.code() == std::errc::filename_too_long ? kWrongRequest : kCouldNot;
  } catch (const std::bad_alloc&) {
    err << "trainyard: out of memory\n";
    return kCouldNot;
  } catch (const std::exception& bug) {
    err << "trainyard: internal error, please report it with the command you ran: "
        << printable(bug.what()) << "\n";
    return kOurBug;
  }
}

}  // namespace trainyard::cli
