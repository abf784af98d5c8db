#include "train/metric_sums.h"

namespace trainyard::train {

std::vector<TrainingGraph::MetricPort> reported_metrics(
    const std::vector<TrainingGraph::MetricPort>& all) {
  std::vector<TrainingGraph::MetricPort> reported;
  for (const TrainingGraph::MetricPort& metric : all) {
    if (metric.kind != MetricKind::kEach) reported.push_back(metric);
  }
  return reported;
}

std::vector<Score> metric_scores(const std::vector<TrainingGraph::MetricPort>& reported,
                                 const MetricSums& sums) {
  std::vector<Score> scores;
  for (size_t i = 0; i < sums.metrics.size(); ++i) {
    const bool counts = reported[i].kind == MetricKind::kCount;
    scores.push_back({.name = counts ? reported[i].share : reported[i].name,
                      .value = sums.per_image(sums.metrics[i]),
                      .is_share = counts});
  }
  return scores;
}

}  // namespace trainyard::train
