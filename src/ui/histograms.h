// How weights, gradients and activations of a run were spread over time.
#pragma once

#include <string>

#include "base/json.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// Names of the histograms in the run's event files; an empty list: it recorded none.
Json histogram_names(const Run& run);
// Those of one name by step, at most 60 of them: counts between `low` and `high` of all in 40 equal
// parts, mean and deviation of each. Throws RequestError for a name that the run does not have.
Json histograms_of(const Run& run, const std::string& name);

}  // namespace trainyard::ui
