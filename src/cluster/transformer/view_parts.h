// What the documents of transformers have in common: a step's time and a device's memory as rows.
#pragma once

#include <string>
#include <vector>

#include "cluster/transformer/memory.h"
#include "cluster/transformer/step_time.h"

namespace trainyard::report {

struct Part {
  std::string name;
  double amount = 0;
  double share = 0;
};

// With their total as the last row.
std::vector<Part> memory_parts(const transformer::Memory& memory);
std::vector<Part> time_parts(const transformer::StepTime& time);

}  // namespace trainyard::report
