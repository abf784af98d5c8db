// Gradient exchange of synchronous data parallelism: buckets that leave while the backward pass
// goes on.
#pragma once

#include <vector>

#include "cluster/predict/comm/comm.h"
#include "cluster/predict/step.h"

namespace trainyard::predict {

// Gradients that are sent together once the last of them is there.
struct GradientBucket {
  double ready = 0;  // share of the backward pass that has gone by
  double bytes = 0;
};

// The buckets in the order in which they become ready, last layer first. Each holds at least
// `bucket_bytes` except the last.
std::vector<GradientBucket> gradient_buckets(const NetworkProfile& profile,
                                             const Roofline& roofline, double batch,
                                             Precision precision, double bucket_bytes);

struct Exchange {
  double busy = 0;     // seconds of communication
  double exposed = 0;  // of these, after the backward pass
  CommCost whole;      // steps and bytes of all buckets
};

// `overlaps` false: everything is sent after the backward pass.
Exchange predict_exchange(const std::vector<GradientBucket>& buckets, double backward_seconds,
                          const Topology& topology, const CommModel& comm, bool overlaps);

// What workers wait for one another beyond the exchange: slower ones at every step or, with one
// process for all devices, the host's turn for each. `alone` is the step on one device, predicted
// as `step` or measured.
double waiting_seconds(const Stack& stack, const StepTime& step, double alone, int64_t workers);

}  // namespace trainyard::predict
