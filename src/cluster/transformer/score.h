// How well predictions agree with published rows, by source.
#pragma once

#include <optional>
#include <span>
#include <string>
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

// Of speeds: mean absolute errors of the step time, as shares.
struct Score {
  std::string group;  // "vTrain, one host"
  int64_t rows = 0;
  double error = 0;
  double median = 0;
  double inside = 0;    // share of rows within the stack's 80 % interval
  double constant = 0;  // the error of one utilization for all rows of the group, their median
  double fits = 0;      // share of the rows, which all ran, that are said to fit their device
  // Rows predicted from the others of their stack; no value where there are none.
  std::optional<double> size_left_out = {};
  std::optional<double> device_left_out = {};
  std::optional<double> generation_left_out = {};
  std::optional<double> round_left_out = {};     // of MLPerf
  std::optional<double> generation_inside = {};  // of them within the interval for such rows
};
// How well fits to `rows` predict them. Leaving out takes some fits more.
std::vector<Score> score_fits(std::span<const PublishedRow> rows, bool leave_out);
// How well the factors of the catalog predict `rows`, which need not be those of the fit.
std::vector<Score> score_catalog(std::span<const PublishedRow> rows);

// A row beside what the catalog predicts of it.
struct ScoredRow {
  const PublishedRow* row = nullptr;
  double seconds = 0;      // predicted
  SpeedInterval interval;  // of measured over predicted speeds
  bool inside = false;
};
std::vector<ScoredRow> scored_rows(std::span<const PublishedRow> rows);

// Of the allocator's peak.
struct MemoryScore {
  std::string group;
  int64_t rows = 0;
  double error = 0;  // mean absolute
  double bias = 0;   // mean
  double lowest = 0;
  double highest = 0;
};
std::vector<MemoryScore> score_memory(std::span<const MemoryRow> rows);

}  // namespace trainyard::transformer
