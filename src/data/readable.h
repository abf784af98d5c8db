// A data set without the samples that cannot be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

// Reads every sample once, by several threads. What could not be read is listed in `skipped`, with
// the reason, and left out. Throws Error if nothing is left.
std::unique_ptr<Dataset> only_readable(std::unique_ptr<Dataset> dataset,
                                       std::vector<std::string>& skipped);

}  // namespace trainyard::data
