#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "kernels/parallel/parallel.h"

int main(int argc, char** argv) {
  trainyard::kernels::shorten_spinning(argv);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return trainyard::cli::run_program(arguments, std::cout, std::cerr);
}
