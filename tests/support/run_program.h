// Calls the program as main() does and keeps what it says.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "program/command.h"

namespace trainyard::cli {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace trainyard::cli
