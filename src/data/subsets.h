// Parts of a data set, and sets with wrong labels. What is chosen depends on the set and the seed
// alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

// Samples of another set, by index, in this order; a sample may stand in it more than once.
// `source` is for people.
std::unique_ptr<Dataset> select_samples(std::shared_ptr<const Dataset> all,
                                        std::vector<int64_t> chosen, std::string source);

// `count` samples, of every class in proportion; ascending. Throws Error if there are fewer, or if
// a class that has samples would be left with none.
std::vector<int64_t> choose_evenly(const Dataset& dataset, int64_t count, uint64_t seed);

// Two parts of a set, both ascending.
struct Parts {
  std::vector<int64_t> kept;
  std::vector<int64_t> held_out;
};
// Holds out this share of the samples, of every class where targets are classes: at least one and
// not all of a class, but none of a class with one sample. Throws Error if nothing would be held
// out or kept.
Parts hold_out(const Dataset& dataset, double share, uint64_t seed);

// Of class r (from 1) the part r^-exponent of its samples, at least one; ascending.
std::vector<int64_t> choose_long_tail(const Dataset& dataset, double exponent, uint64_t seed);

// The set with a share of its labels replaced by other classes, which are drawn in proportion to
// how often they occur (as Mahajan et al., 2018, do). Throws Error if there is only one class.
std::unique_ptr<Dataset> with_label_noise(std::shared_ptr<const Dataset> all, double share,
                                          uint64_t seed);

}  // namespace trainyard::data
