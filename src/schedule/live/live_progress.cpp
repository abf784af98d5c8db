#include "schedule/live/live_progress.h"

#include <cmath>

#include "runs/metrics.h"

namespace trainyard::schedule {
namespace {

constexpr double kFurtherWorker = 0.7;
// Before anything was measured all jobs are alike.
constexpr double kUnknownSpeed = 1.0 / 30;

double with_workers(int32_t workers) {
  return 1 + kFurtherWorker * (workers - 1);
}

}  // namespace

void LiveProgress::look(int32_t workers) {
  if (!std::filesystem::exists(run_ / "metrics.jsonl")) return;
  double epochs = 0;
  double steps_per_epoch = 0;
  double step = 0;
  double step_seconds = 0;
  for (const Json& line : runs::read_metrics(run_ / "metrics.jsonl")) {
    step = line.at("step").as_number();
    if (const Json* ms = line.find("step_ms"); ms != nullptr && ms->is_number()) {
      step_seconds = ms->as_number() / 1e3;
    }
    if (line.find("train_loss") == nullptr) continue;
    epochs = line.at("epoch").as_number();
    steps_per_epoch = step / epochs;
  }
  done_ = steps_per_epoch > 0 ? std::max(epochs, step / steps_per_epoch) : 0;
  if (workers > 0 && steps_per_epoch > 0 && step_seconds > 0) {
    measured_[workers] = 1 / (step_seconds * steps_per_epoch);
  }
}

double LiveProgress::speed(int32_t, int32_t workers, int32_t) const {
  if (workers < 1) return 0;
  if (measured_.empty()) return kUnknownSpeed * with_workers(workers);
  auto near = measured_.lower_bound(workers);
  if (near == measured_.end()) --near;
  return near->second * with_workers(workers) / with_workers(near->first);
}

}  // namespace trainyard::schedule
