// How well trained networks tell the classes apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "runs/confusion.h"

namespace trainyard::report {

struct TestedRun {
  std::string name;
  Confusion confusion;  // of its last test
};

// A heat map of the mistakes of each; of one run its classes and what it confuses, of several with
// the same classes their recalls side by side. Nothing without runs.
std::vector<Block> class_blocks(std::span<const TestedRun> runs);

}  // namespace trainyard::report
