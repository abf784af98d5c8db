// The document that `trainyard validate` prints.
#pragma once

#include <span>
#include <vector>

#include "cluster/predict/spread.h"
#include "cluster/predict/validate.h"
#include "report/document.h"

namespace trainyard::report {

struct ValidationResult {
  std::vector<predict::Score> scores;
  std::span<const predict::Excluded> excluded;
  // Empty where leaving out was not asked for.
  struct LeftOut {
    predict::Group group = predict::Group::kNetwork;
    std::vector<predict::Score> all;
    std::vector<predict::Score> supported;  // those whose stack has rows elsewhere
  };
  std::vector<LeftOut> left_out;
  std::vector<predict::Validation::Coverage> coverage;
  // How families differ where two or more were measured on the same thing.
  struct Spread {
    predict::MeasuredTask subject = predict::MeasuredTask::kTraining;
    bool same_properties = false;
    predict::FamilySpread spread;
  };
  std::vector<Spread> spreads;
};

Document validation_document(const ValidationResult& result);
// The figures of one stack: value, how sure, and by what.
Document figures_document(const predict::Stack& stack,
                          std::span<const predict::Validation::Figure> figures);

}  // namespace trainyard::report
