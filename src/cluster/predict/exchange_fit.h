// Fits how a software stack uses its links when gradients are exchanged.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/predict/exchange.h"
#include "cluster/predict/predict.h"

namespace trainyard::predict {

// A row of several devices whose speed on one is known.
struct ScalingRow {
  const Stack* stack = nullptr;
  StepTime step;     // as predicted for one device
  double alone = 0;  // seconds of a step on one device, as measured
  std::vector<GradientBucket> buckets;
  Cluster cluster;
  int64_t workers = 1;
  double batch = 1;  // per worker
  double images_per_s = 0;
};

// images/s of the row with `stack`'s way of exchanging.
double scaled_speed(const ScalingRow& row, const Stack& stack);

// `stack` with overlap, shares of links and waiting that suit `rows` best, of values on a grid: few
// numbers with few rows cannot go astray on one. The usual shares of Stack if there are none.
Stack fit_exchange(Stack stack, std::span<const ScalingRow* const> rows);

}  // namespace trainyard::predict
