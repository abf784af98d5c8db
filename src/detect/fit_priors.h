// Priors for the objects of a data set.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "models/detection/priors.h"

namespace trainyard::detect {

struct PriorRecall {
  double mean_overlap = 0;  // of each object with its best prior
  int64_t covered = 0;      // objects with a prior that overlaps them by half or more
};

struct PriorFit {
  int64_t objects = 0;
  PriorRecall own;                 // with SSD's shapes
  PriorRecall fitted;              // with these
  std::vector<PriorShape> shapes;  // kShapesPerPosition for each map, by rising area where fitted
};

// For each map, groups the sizes of the objects that belong to it by k-means, with 1 - overlap as
// the distance. Pictures are taken as stretched to a square. Throws Error if there is no object.
PriorFit fit_priors(const data::Dataset& set, int64_t image, uint64_t seed, size_t maps = kMaps);

}  // namespace trainyard::detect
