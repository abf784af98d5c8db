// How much families of software stacks differ on the same hardware: what bounds a prediction for a
// family that was never measured.
#pragma once

#include <cstdint>
#include <span>

#include "predict/catalog.h"
#include "predict/validate.h"

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
// channels-last, Winograd, Fourier, image by image, copies of the input), which is all that a
// model can know of a family without rows.
FamilySpread family_spread(std::span<const Score> scores, const Catalog& catalog,
                           bool same_properties);

}  // namespace trainyard::predict
