// Progress of long work on stderr.
#pragma once

#include <string_view>

namespace trainyard::cli {

// One line that is rewritten on a terminal, a line every tenth elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  // A share of 1 ends the line.
  void show(double share, std::string_view what);

 private:
  bool terminal_;
  int last_ = -1;
};

}  // namespace trainyard::cli
