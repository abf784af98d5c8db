// What a command is. Each lives in commands/<name>.cpp; commands.cpp lists them.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "program/args.h"

namespace trainyard::cli {

// Runs with parsed arguments, writes its result to the stream (progress and logs go to stderr) and
// returns the exit code. Errors are thrown.
using Runner = std::function<int(std::ostream&)>;

struct Command {
  std::string_view name;
  std::string_view group;
  std::string_view summary;
  std::string_view examples;  // lines of help, indented by two
  // Declares the arguments and returns what to run once they are parsed.
  Runner (*setup)(Args&);
};

std::span<const Command* const> all_commands();

// The whole program: picks the command, parses, runs, maps errors to exit codes (docs/errors.md).
int run_program(std::span<const std::string> arguments, std::ostream& out, std::ostream& err);

}  // namespace trainyard::cli
