// What a training run shows of its epochs: a line while it goes, a table at the end.
#pragma once

#include <string>

#include "report/document.h"
#include "train/reports.h"

namespace trainyard::cli {

std::string epoch_line(const train::EpochReport& report);

// Epochs, steps, the best score (`best_<name>` in the data) and the run directory.
report::Document train_document(const train::TrainResult& result, const std::string& directory);

// Which weights model.onnx has, the score of the test with them, and why the run ended early;
// empty if nothing was tested.
std::string weights_sentence(const train::TrainResult& result);

}  // namespace trainyard::cli
