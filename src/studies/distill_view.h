// What `distill` found, as a document.
#pragma once

#include "report/document.h"
#include "studies/distill.h"

namespace trainyard::cli {

report::Document distill_document(const recipes::DistillConfig& config,
                                  const recipes::DistillResult& result);

}  // namespace trainyard::cli
