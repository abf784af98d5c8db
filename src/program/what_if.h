// Predictions that a page asks for: the same words and the same answer as `predict --json`.
#pragma once

#include <map>
#include <string>

namespace trainyard::cli {

// `model` is the name of a built-in network; the others are flags of predict without hyphens in
// front, as device=v100. Throws Error for a name that is no such flag, for one that would read a
// file, and for what predict refuses.
std::string predict_json(const std::map<std::string, std::string>& query);

}  // namespace trainyard::cli
