// Predictions for the measured machine against networks that run on it now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predict/catalog.h"
#include "report/document.h"

namespace trainyard::cli {

struct ThisMachineOptions {
  std::vector<std::string> networks;  // empty: those that the goals are set for
  int64_t runs = 7;
};

// Inference at batch 1 and 8 and training steps, with the threads that the machine was measured
// with. Throws Error if it was not measured.
report::Document validate_this_machine(const predict::Catalog& catalog,
                                       const ThisMachineOptions& options);

}  // namespace trainyard::cli
