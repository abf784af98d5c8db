// Small graphs that show how fast this machine does each family of operators. None is a network of
// the zoo, so that networks can judge what is learned from them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace trainyard::measure {

struct CalibrationGraph {
  std::string name;
  std::function<Graph(int64_t batch)>
      build;  // ends in scores of classes, so that it can be trained
  std::vector<int64_t> inference_batches;
  std::vector<int64_t> training_batches;
};

// All of them, or a few tiny ones that show the way only.
std::vector<CalibrationGraph> calibration_graphs();
std::vector<CalibrationGraph> quick_calibration_graphs();

}  // namespace trainyard::measure
