// What `data inspect` shows of tables.
#pragma once

#include "data/dataset.h"
#include "report/document.h"

namespace trainyard::cli {

// Columns with what they mean to a network, classes or the number that is foretold, and what was
// left out.
report::Document table_set_document(const data::Dataset& set);

}  // namespace trainyard::cli
