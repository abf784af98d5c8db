// What training, its workers and its tests show: a line while it goes, tables at the end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/document.h"
#include "train/communication_plan.h"
#include "train/evaluate.h"
#include "train/reports.h"
#include "train/servers/parameter_training.h"

namespace trainyard::cli {

std::string epoch_line(const train::EpochReport& report);

// Epochs, steps, the best score (`best_<name>` in the data) and the run directory.
report::Document train_document(const train::TrainResult& result, const std::string& directory);

// Which weights model.onnx has, the score of the test with them, and why the run ended early;
// empty if nothing was tested.
std::string weights_sentence(const train::TrainResult& result);

// `trainyard train --explain-comm`: what workers exchange, as a document.
report::Document communication_document(const std::vector<train::CommunicationItem>& items,
                                        const std::vector<train::MissingExchange>& omissions);

// Scores, the classes one by one and the confusion matrix of a classifier. Classes without a name
// have their number.
report::Document evaluation_document(const train::Evaluation& test,
                                     std::span<const std::string> class_names);

// Scores of numbers that were foretold, one for each row of a table.
report::Document number_document(const train::Evaluation& test);

// The same of a language model, on rows of so many tokens.
report::Document token_document(const train::Evaluation& test, int64_t length);

// Tables of workers and of staleness; `servers` and `workers` in the data.
void add_server_report(const train::TrainConfig& config, const train::ServerTrainResult& result,
                       report::Document& document);

}  // namespace trainyard::cli
