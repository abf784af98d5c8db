// A network as a page draws it: boxes with their places, edges, and what each box costs.
#pragma once

#include <map>
#include <string>

namespace trainyard::cli {

// `model` is the name of a built-in network, or `path` the folder of a run (which the caller has
// found; nobody else may name one); `open` the ids of blocks that are shown from inside, with
// commas between, or "all"; `device` and `batch` what times are predicted for. Throws Error for
// what there is not.
std::string model_picture_json(const std::map<std::string, std::string>& query);

}  // namespace trainyard::cli
