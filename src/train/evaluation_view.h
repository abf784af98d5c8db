// What `evaluate` says.
#pragma once

#include <span>
#include <string>

#include "report/document.h"
#include "train/evaluate.h"

namespace trainyard::cli {

// Scores, the classes one by one and the confusion matrix of a classifier. Classes without a name
// have their number.
report::Document evaluation_document(const train::Evaluation& test,
                                     std::span<const std::string> class_names);

// Scores of numbers that were foretold, one for each row of a table.
report::Document number_document(const train::Evaluation& test);

// The same of a language model, on rows of so many tokens.
report::Document token_document(const train::Evaluation& test, int64_t length);

}  // namespace trainyard::cli
