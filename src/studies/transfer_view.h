// What a study of transfer found, for people and programs.
#pragma once

#include "data/dataset.h"
#include "report/document.h"
#include "studies/transfer.h"

namespace trainyard::cli {

report::Document transfer_document(const recipes::TransferConfig& config,
                                   const recipes::TransferResult& result,
                                   const data::Dataset& training);

}  // namespace trainyard::cli
