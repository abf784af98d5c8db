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

struct Score {
  std::string group;  // "vTrain"
  int64_t rows = 0;
  double in_sample = 0;  // mean absolute errors, as shares
  double median = 0;     // in sample
  double inside = 0;     // share of rows within the stack's 80 % interval
  // Rows of a size (layers, hidden) or a generation of devices predicted from the others of their
  // stack; no value where there are none.
  std::optional<double> size_left_out = {};
  std::optional<double> device_left_out = {};
};
// How well fits to `rows` predict them, by source. Leaving out takes some fits more.
std::vector<Score> score_fits(std::span<const PublishedRow> rows, bool leave_out);
// How well the factors of the catalog predict `rows`, which need not be those of the fit.
std::vector<Score> score_catalog(std::span<const PublishedRow> rows);

}  // namespace trainyard::transformer
