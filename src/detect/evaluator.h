// A detector on pictures whose objects are known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "detect/scoring.h"
#include "models/detection/decoder.h"
#include "train/evaluate.h"

namespace trainyard::detect {

// What a test has seen. Regions are in pixels of the pictures as the data set has them, if these
// were only resized on the way.
struct DetectionTest {
  std::vector<Truth> truths;
  std::vector<Detection> detections;
  std::vector<int64_t> pictures;  // samples of the set
};

// Scores "map" (VOC 2007's mean of 11 points at half overlap), which decides, "map_every_point" and
// "map_50_95" (COCO's). The network was trained with priors of these shapes; its outputs become
// those of a decoder. `seen`, which may be null, gets everything for reports when the result is
// asked for.
// `numbers` has for each class of the network its number in the data, -1 for one that the data does
// not have; empty: classes have the same numbers in both.
std::unique_ptr<train::Evaluator> make_detection_evaluator(Graph& model,
                                                           std::span<const PriorShape> shapes,
                                                           int64_t classes,
                                                           DetectionTest* seen = nullptr,
                                                           std::vector<int64_t> numbers = {});

}  // namespace trainyard::detect
