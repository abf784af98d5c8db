// What a run with parameter servers adds to the report of a training.
#pragma once

#include "report/document.h"
#include "train/servers/parameter_training.h"

namespace trainyard::cli {

// Tables of workers and of staleness; `servers` and `workers` in the data.
void add_server_report(const train::TrainConfig& config, const train::ServerTrainResult& result,
                       report::Document& document);

}  // namespace trainyard::cli
