// What studies found, as documents.
#pragma once

#include <optional>
#include <vector>

#include "data/dataset.h"
#include "report/document.h"
#include "studies/distill.h"
#include "studies/time_to_accuracy.h"
#include "studies/transfer.h"
#include "studies/votes.h"

namespace trainyard::cli {

report::Document distill_document(const recipes::DistillConfig& config,
                                  const recipes::DistillResult& result);

// What a study of transfer found, for people and programs.
report::Document transfer_document(const recipes::TransferConfig& config,
                                   const recipes::TransferResult& result,
                                   const data::Dataset& training);

// Logs of one file: those of one machine.
struct ImportedLogs {
  std::string file;
  std::vector<recipes::TrainingLog> logs;
  recipes::TtaSummary summary;
};

struct TtaFindings {
  double target = 0;
  std::vector<recipes::TrainingLog> logs = {};
  recipes::TtaSummary ours = {};
  std::vector<ImportedLogs> imported = {};
  std::optional<recipes::Generalization> generalization = {};
  std::string pictures_png = {};  // of the pictures that were voted on; empty: none
};

report::Document tta_document(const TtaFindings& findings);

}  // namespace trainyard::cli
