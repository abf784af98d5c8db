// What the parts of the document of `trainyard validate` share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/predict/validation_view.h"
#include "report/document.h"
#include "report/fields.h"

namespace trainyard::report {

using KeyOf = std::function<std::string(const predict::Score&)>;

Cell signed_percent(double share);
std::vector<predict::Score> of_subject(std::span<const predict::Score> scores,
                                       predict::MeasuredTask subject);
// Rows, errors and PALEO's of named groups of rows.
struct GroupSummary {
  std::string name;
  predict::Summary summary;
};
// Adds a row unless there are no scores.
void add_summary(std::vector<GroupSummary>& groups, const std::string& name,
                 std::span<const predict::Score> scores);
// `first` is the title of the column of names.
Fields<GroupSummary> summary_fields(std::string first);

// Parts that concern rows which were left out of fits; nothing where there are none.
void add_coverage(const ValidationResult& result, Document& document);
void add_levels(const ValidationResult& result, Document& document);
void add_spreads(const ValidationResult& result, Document& document);
void add_left_out(const ValidationResult& result, Document& document);

}  // namespace trainyard::report
