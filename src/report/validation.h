// The document that `trainyard validate` prints.
#pragma once

#include <span>
#include <vector>

#include "predict/validate.h"
#include "report/table.h"

namespace trainyard::report {

struct ValidationResult {
  std::vector<predict::Score> scores;
  std::span<const predict::Excluded> excluded;
  // Empty where leaving out was not asked for.
  std::vector<predict::Score> without_device;
  std::vector<predict::Score> without_network;
};

Document validation_document(const ValidationResult& result);

}  // namespace trainyard::report
