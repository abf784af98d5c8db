#include "cluster/schedule/live/live_progress.h"

#include <algorithm>
#include <numeric>
#include <vector>

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
  std::vector<double> times;
  for (const Json& line : runs::read_metrics(run_ / "metrics.jsonl")) {
    step = line.at("step").as_number();
    if (const Json* ms = line.find("step_ms"); ms != nullptr && ms->is_number()) {
      times.push_back(ms->as_number() / 1e3);
    }
    if (line.find("train_loss") == nullptr) continue;
    epochs = line.at("epoch").as_number();
    steps_per_epoch = step / epochs;
  }
  done_ = steps_per_epoch > 0 ? std::max(epochs, step / steps_per_epoch) : 0;
  if (workers == 0 || steps_per_epoch == 0 || times.empty()) return;
  // Single steps say little on a machine that does other things too.
  const size_t last = std::min<size_t>(times.size(), 50);
  const double mean =
      std::accumulate(times.end() - static_cast<std::ptrdiff_t>(last), times.end(), 0.0) /
      static_cast<double>(last);
  double& known = measured_[workers];
  const double now = 1 / (mean * steps_per_epoch);
  known = known > 0 ? (known + now) / 2 : now;
}

double LiveProgress::speed(int32_t, int32_t workers, int32_t) const {
  if (workers < 1) return 0;
  if (measured_.empty()) return kUnknownSpeed * with_workers(workers);
  auto near = measured_.lower_bound(workers);
  if (near == measured_.end()) --near;
  return near->second * with_workers(workers) / with_workers(near->first);
}

}  // namespace trainyard::schedule
