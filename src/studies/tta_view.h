// What `tta` found, as a document.
#pragma once

#include <optional>
#include <vector>

#include "report/document.h"
#include "studies/time_to_accuracy.h"
#include "studies/votes.h"

namespace trainyard::cli {

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
