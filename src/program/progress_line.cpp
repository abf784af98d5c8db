#include "program/progress_line.h"

#include <cmath>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

namespace trainyard::cli {

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(double share, std::string_view what) {
  const int percent = static_cast<int>(std::floor(100 * share));
  if (terminal_) {
    std::cerr << fmt::format("\r{:3} % {:<60}", percent, what) << (share >= 1 ? "\n" : "")
              << std::flush;
  } else if (percent / 10 != last_ / 10 || last_ < 0) {
    std::cerr << fmt::format("{:3} % {}\n", percent, what);
  }
  last_ = percent;
}

}  // namespace trainyard::cli
