// What `distill` found, as a document.
#pragma once

#include "recipes/distill.h"
#include "report/document.h"

namespace trainyard::cli {

report::Document distill_document(const recipes::DistillConfig& config,
                                  const recipes::DistillResult& result);

}  // namespace trainyard::cli
