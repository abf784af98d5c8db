// Time to a quality instead of a number of tokens: how many samples a training needs, by its batch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/transformer/plan.h"
#include "cluster/transformer/published.h"

namespace trainyard::transformer {

// One row of catalog/training/targets.csv with its points of samples_to_target.csv.
struct Target {
  struct Point {
    double batch = 0;
    double samples = 0;
  };
  std::string model;
  std::string what;   // "log perplexity 2.69"
  double filled = 1;  // mean share of a sequence that is no padding
  std::string source;
  std::vector<Point> points;  // by batch

  // Between the points as in a plot of logarithms, beyond the last as between the last two.
  double samples(double batch) const;
  // Where a target takes twice the fewest samples; no value if no point shows it.
  std::optional<double> critical_batch() const;
};

std::span<const Target> known_targets();
// Null if none is known for the model of that name.
const Target* find_target(std::string_view model);

// Steps to the target.
double steps_to_target(const Target& target, int64_t batch);

// The software that results of MLPerf of this model are of: "mlperf bert-large".
std::string target_stack(std::string_view model);

// Rows as if each had published the mean time of a step: that of the target over the steps to it.
// The mapping is the fastest that is found for it. Rows that cannot be predicted are added to
// `skipped`.
std::vector<PublishedRow> rows_of_targets(std::span<const TargetRow> targets,
                                          std::vector<SkippedRow>& skipped);

}  // namespace trainyard::transformer
