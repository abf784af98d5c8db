// Runs that are asked for by what they are.
#pragma once

#include <span>
#include <string>

#include "base/json.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// Whether a row, and all settings of its run, has what each word asks for: `batch=64` a setting, a
// state or a model (state=running), `test_top1>0.9` or `loss<=0.5` a last number, `#best` a tag,
// anything else a part of the name or the state. Throws Error for a comparison with what is no
// number.
bool matches(const Json& row, const Run& run, std::span<const std::string> words);

}  // namespace trainyard::ui
