// The document that `trainyard sweep` prints.
#pragma once

#include <span>

#include "cluster/predict/sweep.h"
#include "report/document.h"

namespace trainyard::report {

Document sweep_document(const predict::SweepSpec& spec, std::span<const predict::SweepRow> rows);

}  // namespace trainyard::report
