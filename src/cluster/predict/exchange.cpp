#include "cluster/predict/exchange.h"

#include <algorithm>
#include <cmath>

namespace trainyard::predict {

std::vector<GradientBucket> gradient_buckets(const NetworkProfile& profile,
                                             const Roofline& roofline, double batch,
                                             Precision precision, double bucket_bytes) {
  // Half-precision gradients travel as such; everything else as single precision.
  const double element = precision == Precision::kFp16 ? 2 : 4;
  std::vector<GradientBucket> buckets;
  double elapsed = 0;
  double bytes = 0;
  // Gradients appear in the order of the backward pass, so the last layers fill the first bucket.
  for (auto op = profile.ops.rbegin(); op != profile.ops.rend(); ++op) {
    elapsed += roofline.training(*op, batch).backward();
    bytes += op->weights * element;
    if (bytes < bucket_bytes || op->weights == 0) continue;
    buckets.push_back({elapsed, bytes});
    bytes = 0;
  }
  if (bytes > 0) buckets.push_back({elapsed, bytes});
  for (GradientBucket& bucket : buckets) bucket.ready = elapsed > 0 ? bucket.ready / elapsed : 1;
  return buckets;
}

Exchange predict_exchange(const std::vector<GradientBucket>& buckets, double backward_seconds,
                          const Topology& topology, const CommModel& comm, bool overlaps) {
  Exchange exchange;
  // One collective at a time: a bucket waits for its gradients and for the bucket before it.
  double free = 0;
  for (const GradientBucket& bucket : buckets) {
    const CommCost cost = comm.cost(topology, bucket.bytes);
    const double ready = overlaps ? bucket.ready * backward_seconds : backward_seconds;
    free = std::max(free, ready) + cost.seconds;
    exchange.whole += cost;
  }
  exchange.busy = exchange.whole.seconds;
  exchange.exposed = exchange.busy > 0 ? std::max(0.0, free - backward_seconds) : 0;
  return exchange;
}

// Processes of their own wait for the slowest, which grows slowly with their number; one process
// that drives all devices issues their kernels one device after another.
double waiting_seconds(const Stack& stack, const StepTime& step, double alone, int64_t workers) {
  if (workers <= 1) return 0;
  if (!stack.one_process) return stack.sync * alone * std::log2(static_cast<double>(workers));
  const double host = step.total() > 0 ? step.host * alone / step.total() : 0;
  return stack.sync * host * static_cast<double>(workers - 1);
}

}  // namespace trainyard::predict
