// Runs one case in all the ways a file or a request could make it run.
#pragma once

#include <string>

#include "support/op_case.h"

namespace trainyard::fuzz {

struct Outcome {
  bool computed = false;  // or refused with Error
  int compared = 0;       // further runs that were held against the reference
  std::string wrong;      // what must not happen, in words; empty: nothing
};

// Inference, cost, the reference, the compiled node with passes and fast kernels on two threads,
// every kernel that takes it, and the node with shapes found out in the run. Only Error and Failure
// may be thrown; results may differ where values are beyond `tame`: rounding and overflow depend on
// the order of sums.
Outcome run_case(const testing::OpCase& c);

}  // namespace trainyard::fuzz
