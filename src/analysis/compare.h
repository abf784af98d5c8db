// Two networks side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/layers.h"

namespace trainyard::analysis {

struct ComparedQuantity {
  std::string name;  // as in the totals of the JSON output
  int64_t a = 0;
  int64_t b = 0;

  int64_t difference() const { return b - a; }
  // The part of `a` that `b` does without; negative if it takes more, 0 if a is 0.
  double saving() const { return share(a - b, a); }
};

std::vector<ComparedQuantity> compare(const LayerTable& a, const LayerTable& b);

}  // namespace trainyard::analysis
