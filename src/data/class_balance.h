// How often an epoch takes the samples of each class.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"

namespace trainyard::data {

enum class Balance : uint8_t {
  kNatural,  // as they occur
  kSqrt,     // by the root of how often they occur
  kUniform,  // all alike
};

// "natural", "sqrt" or "uniform"; throws Error otherwise.
Balance parse_balance(std::string_view text);

// The members of each class of a set whose targets are classes. Throws Error for other targets.
std::vector<std::vector<int64_t>> members_of_classes(const Dataset& dataset);

// `total` dealt out in proportion to the weights, in whole numbers that sum up to it: what is left
// after rounding down goes to the largest remainders.
std::vector<int64_t> deal_out(int64_t total, const std::vector<double>& weights);

// For Sampler: an epoch as long as the set. Empty for kNatural. A class without samples has none.
std::vector<SampleGroup> balanced_groups(const Dataset& dataset, Balance balance);

}  // namespace trainyard::data
