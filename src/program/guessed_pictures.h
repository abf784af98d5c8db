// The pictures behind a cell of a run's confusion matrix.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/json.h"

namespace trainyard::cli {

// {"step", "count", "pictures": [{"sample", "name", "png"}, …]}: how many samples of class `truth`
// the run took for `guess` in its last test, and the first of them as PNG files in base64, from the
// data set that its settings name. Throws Error where the run recorded no guesses or its data are
// not there.
Json guessed_pictures(const std::filesystem::path& run, int64_t truth, int64_t guess);

}  // namespace trainyard::cli
