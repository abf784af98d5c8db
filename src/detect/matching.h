// Which prior answers for which object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/detection/priors.h"

namespace trainyard::detect {

struct Object {
  Region region;      // in shares of the picture
  int64_t label = 0;  // from 1; 0 is background
};

// Priors that overlap an object by this much, or most of all priors, answer for it.
inline constexpr double kMatchOverlap = 0.5;

struct Match {
  int64_t label = 0;
  Offsets offsets;  // zeros for background
};

// One for each prior. Every prior takes the object it overlaps most; then each object takes the
// prior that overlaps it most, a later object from an earlier one. Overlaps are those of
// pytorch-ssd, which adds 1e-5 to the joint area.
class Matcher {
 public:
  explicit Matcher(std::vector<Prior> priors);

  const std::vector<Prior>& priors() const { return priors_; }
  void match(std::span<const Object> objects, std::vector<Match>& out) const;
  // How well each object is covered by its best prior.
  std::vector<double> best_overlaps(std::span<const Region> regions) const;

 private:
  std::vector<Prior> priors_;
  std::vector<Region> regions_;
};

}  // namespace trainyard::detect
