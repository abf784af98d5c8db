#include "cluster/predict/exchange_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace trainyard::predict {
namespace {

constexpr std::array kShares = {0.05, 0.06, 0.07, 0.085, 0.1,  0.12, 0.14, 0.17, 0.2, 0.24,
                                0.28, 0.34, 0.4,  0.48,  0.56, 0.67, 0.8,  0.9,  1.0};
constexpr std::array kWaiting = {0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08};
// Of the host's work that waits its turn where one process serves all devices.
constexpr std::array kTurns = {0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0};

// What a share that is e times the usual one, or one e-th of it, adds to the sum of errors. A link
// of few rows says little, and an exchange that is hidden behind the backward pass nothing at all.
constexpr double kPull = 0.1;

double pull(double share, double usual) {
  return kPull * std::fabs(std::log(share / usual));
}

bool over_pcie(const ScalingRow& row) {
  return row.cluster.inside.id.starts_with("pcie");
}

double misfit(const Stack& stack, std::span<const ScalingRow* const> rows, bool pcie) {
  double sum = 0;
  for (const ScalingRow* row : rows) {
    if (over_pcie(*row) != pcie) continue;
    sum += std::fabs(std::log(scaled_speed(*row, stack) / row->images_per_s));
  }
  return sum;
}

// The share of one kind of link inside hosts that fits best; the other kind's rows do not depend
// on it.
double fit_inside(Stack& stack, double Stack::*share, std::span<const ScalingRow* const> rows,
                  bool pcie) {
  const double usual = Stack{}.*share;
  const auto here = [&](const ScalingRow* row) { return over_pcie(*row) == pcie; };
  if (std::none_of(rows.begin(), rows.end(), here)) {
    stack.*share = usual;
    return 0;
  }
  double least = std::numeric_limits<double>::infinity();
  double best = stack.*share;
  for (const double value : kShares) {
    stack.*share = value;
    const double sum = misfit(stack, rows, pcie) + pull(value, usual);
    if (sum < least) {
      least = sum;
      best = value;
    }
  }
  stack.*share = best;
  return least;
}

}  // namespace

double scaled_speed(const ScalingRow& row, const Stack& stack) {
  const Topology topology = row.cluster.topology(row.workers, stack);
  const double backward = row.alone * row.step.backward / row.step.total();
  const Exchange exchange =
      predict_exchange(row.buckets, backward, topology, *row.cluster.comm, stack.overlaps);
  const double seconds =
      row.alone + exchange.exposed + waiting_seconds(stack, row.step, row.alone, row.workers);
  return static_cast<double>(row.workers) * row.batch / seconds;
}

Stack fit_exchange(Stack stack, std::span<const ScalingRow* const> rows) {
  if (rows.empty()) {
    stack.network_share = Stack{}.network_share;
    stack.inside_share = Stack{}.inside_share;
    stack.pcie_share = Stack{}.pcie_share;
    return stack;
  }
  Stack best = stack;
  double least = std::numeric_limits<double>::infinity();
  const bool between = std::any_of(rows.begin(), rows.end(), [](const ScalingRow* row) {
    return row->workers > row->cluster.per_host;
  });
  const std::vector<double> networks =
      between ? std::vector(kShares.begin(), kShares.end()) : std::vector{Stack{}.network_share};
  for (const bool overlaps : {true, false}) {
    if (overlaps && stack.one_process) continue;
    for (const double sync : stack.one_process ? kTurns : kWaiting) {
      for (const double network : networks) {
        Stack candidate = stack;
        candidate.overlaps = overlaps;
        candidate.sync = sync;
        candidate.network_share = network;
        const double sum = fit_inside(candidate, &Stack::inside_share, rows, /*pcie=*/false) +
                           fit_inside(candidate, &Stack::pcie_share, rows, /*pcie=*/true) +
                           pull(network, Stack{}.network_share);
        if (sum >= least) continue;
        least = sum;
        best = candidate;
      }
    }
  }
  return best;
}

}  // namespace trainyard::predict
