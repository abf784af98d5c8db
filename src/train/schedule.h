// Learning rates over a run: how the rate of the optimizer follows the epoch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard::train {

// Every epoch here may be a fraction: step / steps per epoch.
struct Schedule {
  enum class Kind { kConstant, kStep, kMultiStep, kCosine, kPolynomial, kOneCycle, kWsd };

  Kind kind = Kind::kConstant;
  double period = 0;               // kStep: epochs between falls
  std::vector<double> milestones;  // kMultiStep: epochs of the falls, rising
  double gamma = 0.1;              // kStep, kMultiStep: the factor of a fall
  double power = 1;                // kPolynomial: 1 is a straight line
  // kCosine, kPolynomial, kOneCycle, kWsd: what is left of the rate at the end
  double end = 0;
  double start = 0.04;       // kOneCycle: the share of the rate it starts with
  double rise = 0.3;         // kOneCycle: the share of the run in which the rate rises
  double decay = 0.2;        // kWsd: the share of the run in which the rate falls
  double warmup = 0;         // epochs of a straight rise in front
  double warmup_from = 0.1;  // the share of the rate it starts with
};

// "constant", "step:30", "step:30;gamma=0.5", "multistep:15,25;gamma=0.1", "cosine",
// "cosine;end=0.01", "polynomial;power=2;end=0.001", "onecycle;rise=0.3;start=0.04;end=0",
// "wsd;decay=0.2"; each but onecycle may add ";warmup=5;warmup_from=0.1".
// Throws Error with the nearest name for an unknown schedule or setting.
Schedule parse_schedule(std::string_view text);

// The rate at `epoch` of `epochs`. Cosine and polynomial run from the end of the warm-up to the end
// of the run; onecycle (Smith 2018) rises and falls by half a cosine each, from `start` to the rate
// to `end`; wsd (warm-up, stable, decay) stays at the rate and falls in a straight line at the end
// of the run; milestones and periods count from its beginning.
double learning_rate(const Schedule& schedule, double base_rate, double epoch, double epochs);

// Linear scaling: a batch k times as large takes steps k times as long.
double scale_with_batch(double base_rate, int64_t batch, int64_t base_batch);

}  // namespace trainyard::train
