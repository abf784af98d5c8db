// What a network makes of every picture of a set.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "ir/graph.h"

namespace trainyard::recipes {

// Images x classes.
struct ScoreTable {
  int64_t classes = 0;
  std::vector<float> values = {};

  int64_t images() const { return static_cast<int64_t>(values.size()) / classes; }
  std::span<const float> row(int64_t image) const {
    return std::span(values).subspan(static_cast<size_t>(image * classes),
                                     static_cast<size_t>(classes));
  }
  // The class with the most; the first of equals.
  int64_t best(int64_t image) const;
};

struct ScoringOptions {
  std::string steps = {};  // from picture to input, nothing random among them
  int threads = 0;
  int64_t data_workers = 1;
  std::function<bool()> should_stop = {};  // asked after each batch; true: throws Failure
};

// Probabilities: the scores before a final Softmax, divided by the temperature, through softmax.
// `model` has one input and as many outputs of classes as it likes; the first counts. Throws Error
// for pictures that do not fit its input.
ScoreTable score_pictures(Graph model, const data::Dataset& set, double temperature,
                          const ScoringOptions& options);

}  // namespace trainyard::recipes
