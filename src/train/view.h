// What a training run shows of its epochs: a line while it goes, a table at the end.
#pragma once

#include <string>

#include "report/document.h"
#include "train/reports.h"

namespace trainyard::cli {

std::string epoch_line(const train::EpochReport& report);

// Epochs, steps, the best score (`best_<name>` in the data) and the run directory.
report::Document train_document(const train::TrainResult& result, const std::string& directory);

// "Best top-1 91.20 %. "; empty if nothing was tested.
std::string best_sentence(const train::TrainResult& result);

}  // namespace trainyard::cli
