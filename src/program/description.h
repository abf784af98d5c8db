// The program as data, which calls of the Python package, completions and manual pages go by.
#pragma once

#include "base/json.h"

namespace trainyard::cli {

// {program, version, commands: [{name, group, summary, examples, arguments}]}; arguments are those
// of Args::description().
Json description();

}  // namespace trainyard::cli
