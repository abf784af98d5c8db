// How much families of software stacks differ on the same hardware: what bounds a prediction for a
// family that was never measured.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "cluster/predict/catalog.h"
#include "cluster/predict/validate.h"

namespace trainyard::predict {

// Over the rows of configurations (device, network, batch, precision, mode) that two or more
// families were measured on. Errors are means of |predicted / measured - 1|.
struct FamilySpread {
  int64_t configurations = 0;
  int64_t rows = 0;
  // One speed for each configuration, the best that there is: chosen with all measurements in view.
  // No model that does not tell families apart can do better.
  double best = 0;
  double others = 0;         // the geometric mean of what the other families measured
  double others_median = 0;  // the median of those errors
  double model = 0;          // `predicted` of the scores
};

// `scores`: rows predicted by fits without their families. `same_properties`: two families are
// compared only where the catalog says the same of their kernels (engine, compiled, fuses,
// channels-last, Winograd, Fourier, image by image, copies of the input, OpenCL, casts of
// weights, launches as one graph), which is all that
// a model can know of a family without rows.
FamilySpread family_spread(std::span<const Score> scores, const Catalog& catalog,
                           bool same_properties);

// The errors of left-out groups, taken apart: how fast a group is as a whole (its level), and the
// rest. A level is the mean logarithm of predicted / measured.
struct LevelSplit {
  int64_t groups = 0;
  double deviation = 0;  // of the levels, each group counting once
  double levels = 0;     // mean error of the rows if all but the levels were right
  double rest = 0;       // mean error of the rows if each group had the best factor of its own
};
LevelSplit level_split(std::span<const Score> scores,
                       const std::function<std::string(const Score&)>& group_of);

}  // namespace trainyard::predict
