#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "program/command.h"

int main(int argc, char** argv) {
  // A file that may not grow is then an error of write(), which is reported and leaves nothing
  // behind.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return trainyard::cli::run_program(arguments, std::cout, std::cerr);
}
