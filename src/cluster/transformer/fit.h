// Finds the factors of a stack: those with which its published rows are most likely, given what is
// usual. A search without chance, so that the same rows give the same factors.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cluster/transformer/published.h"

namespace trainyard::transformer {

Factors fit_factors(std::span<const PublishedRow* const> rows, const Factors& usual);

double predicted_seconds(const PublishedRow& row, const Factors& factors);
// Predicted over measured seconds, minus 1.
double relative_error(const PublishedRow& row, const Factors& factors);

// All stacks with the rows that belong to them, with intervals of their residuals.
std::vector<FittedStack> fit_stacks(std::span<const PublishedRow> rows);

// The rows of each stack of the catalog, in its order.
struct StackRows {
  std::string name;
  std::vector<const PublishedRow*> rows;
};
std::vector<StackRows> rows_by_stack(std::span<const PublishedRow> rows);

// A row that was predicted from a fit to others of its stack.
struct LeftOut {
  const PublishedRow* row = nullptr;
  double seconds = 0;  // predicted

  double speed() const { return seconds / row->step_seconds; }  // measured over predicted
};
using KeyOf = std::string (*)(const PublishedRow&);
// Predicts the rows of each key from a fit to the others. Nothing is known of a stack whose rows
// are all left out.
std::vector<LeftOut> leave_out(std::span<const PublishedRow* const> rows, KeyOf key_of);
std::string size_key(const PublishedRow& row);
std::string round_key(const PublishedRow& row);
std::string device_key(const PublishedRow& row);
std::string generation_key(const PublishedRow& row);

}  // namespace trainyard::transformer
