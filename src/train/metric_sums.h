// Losses and metrics of steps, added up over the samples of an epoch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "train/score.h"
#include "train/training_graph.h"

namespace trainyard::train {

struct MetricSums {
  double loss = 0;  // weighted by images
  int64_t images = 0;
  std::vector<double> metrics;  // of reported_metrics(): counts, and means weighted by images

  double mean_loss() const { return per_image(loss); }
  double per_image(double sum) const {
    return sum / static_cast<double>(std::max<int64_t>(1, images));
  }
};

// Those that runs report: all but kEach.
std::vector<TrainingGraph::MetricPort> reported_metrics(
    const std::vector<TrainingGraph::MetricPort>& all);

// Counts as shares, and means. No metrics: none yet.
std::vector<Score> metric_scores(const std::vector<TrainingGraph::MetricPort>& reported,
                                 const MetricSums& sums);

}  // namespace trainyard::train
