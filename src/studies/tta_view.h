// What `tta` found, as a document.
#pragma once

#include <optional>
#include <vector>

#include "report/document.h"
#include "studies/time_to_accuracy.h"
#include "studies/votes.h"

namespace trainyard::cli {

struct TtaFindings {
  double target = 0;
  std::vector<recipes::TrainingLog> logs = {};
  recipes::TtaSummary ours = {};
  std::vector<recipes::TrainingLog> imported_logs = {};
  recipes::TtaSummary imported = {};
  std::optional<recipes::Generalization> generalization = {};
  std::string pictures_png = {};  // of the pictures that were voted on; empty: none
};

report::Document tta_document(const TtaFindings& findings);

}  // namespace trainyard::cli
