// Weights of classes in a loss, so that rare ones count as much as frequent ones.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::train {

// Numbers separated by commas, one for each class. Throws Error for anything else.
std::vector<float> parse_class_weights(const std::string& text);

// Replaces "balanced" by numbers: samples / (classes * samples of the class), which is 1 on average
// over the samples. Throws Error for data without classes, for a class without samples, and for
// another number of weights than classes.
void settle_class_weights(std::string& weights, const data::Dataset& training);

}  // namespace trainyard::train
