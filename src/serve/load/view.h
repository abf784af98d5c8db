// `trainyard serve bench`: measures a server and says what it found.
#pragma once

#include <ostream>

#include "report/document.h"
#include "report/fields.h"
#include "serve/load/load.h"

namespace trainyard::cli {

const report::Fields<serve::LoadRow>& load_fields();

// Returns the exit code: 1 if an answer was wrong or missing.
int report_load(const serve::LoadOptions& options, const report::Format& format, std::ostream& out);

}  // namespace trainyard::cli
