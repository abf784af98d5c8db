#include "studies/scaling/scale_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace trainyard::measure {
namespace {

std::vector<int64_t> worker_counts(std::span<const ScalePoint> points) {
  std::vector<int64_t> counts;
  for (const ScalePoint& point : points) counts.push_back(point.workers);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

struct StepTimeAt {
  double seconds = 0;
  double error = 0;
  bool measured = true;
};

// The time of a step at a batch per worker.
std::optional<StepTimeAt> step_time(std::span<const ScalePoint> points, int64_t workers,
                                    int64_t batch) {
  const ScalePoint* below = nullptr;
  const ScalePoint* above = nullptr;
  for (const ScalePoint& point : points) {
    if (point.workers != workers) continue;
    if (point.batch == batch) return StepTimeAt{point.step_s, point.error_s, true};
    if (point.batch < batch && (below == nullptr || point.batch > below->batch)) below = &point;
    if (point.batch > batch && (above == nullptr || point.batch < above->batch)) above = &point;
  }
  if (below == nullptr || above == nullptr) return std::nullopt;
  const double share =
      static_cast<double>(batch - below->batch) / static_cast<double>(above->batch - below->batch);
  return StepTimeAt{below->step_s + share * (above->step_s - below->step_s),
                    std::hypot((1 - share) * below->error_s, share * above->error_s), false};
}

ScaleRow make_row(int64_t workers, int64_t batch, StepTimeAt time, const ScaleSettings& settings) {
  ScaleRow row;
  row.workers = workers;
  row.batch = batch;
  row.global_batch = workers * batch;
  row.measured = time.measured;
  row.step_s = time.seconds;
  row.error_s = time.error;
  row.images_per_s = static_cast<double>(row.global_batch) / row.step_s;
  row.epoch_s = static_cast<double>(settings.images) / row.images_per_s;
  row.train_s = row.epoch_s * settings.epochs;
  row.cost_usd = row.train_s / 3600 * settings.usd_per_hour * static_cast<double>(workers);
  return row;
}

void compare_with_one(std::vector<ScaleRow>& rows) {
  if (rows.empty() || rows.front().workers != 1) {
    rows.clear();
    return;
  }
  const double alone = rows.front().epoch_s;
  for (ScaleRow& row : rows) {
    row.speedup = alone / row.epoch_s;
    row.efficiency = row.speedup / static_cast<double>(row.workers);
  }
}

}  // namespace

std::vector<ScaleRow> weak_scaling(std::span<const ScalePoint> points, int64_t batch,
                                   const ScaleSettings& settings) {
  std::vector<ScaleRow> rows;
  for (const int64_t workers : worker_counts(points)) {
    const auto time = step_time(points, workers, batch);
    if (time && time->measured) rows.push_back(make_row(workers, batch, *time, settings));
  }
  compare_with_one(rows);
  return rows;
}

std::vector<ScaleRow> strong_scaling(std::span<const ScalePoint> points, int64_t global_batch,
                                     const ScaleSettings& settings) {
  std::vector<ScaleRow> rows;
  for (const int64_t workers : worker_counts(points)) {
    if (global_batch % workers != 0) continue;
    const int64_t batch = global_batch / workers;
    const auto time = step_time(points, workers, batch);
    if (time) rows.push_back(make_row(workers, batch, *time, settings));
  }
  compare_with_one(rows);
  return rows;
}

ScaleLoss scale_loss(const ScalePoint& point) {
  return {point.alone_s,    point.independent_s, point.slowest_s,
          point.together_s, point.cores_alone_s, point.cores_slowest_s};
}

}  // namespace trainyard::measure
