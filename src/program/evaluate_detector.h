// `evaluate` for detectors.
#pragma once

#include <string>
#include <vector>

#include "data/loader.h"
#include "detect/view.h"
#include "engine/device/device.h"
#include "ir/graph.h"
#include "models/detection/priors.h"

namespace trainyard::cli {

struct DetectorTest {
  DetectionReport report;
  std::vector<detect::PriorShape> shapes;  // of the priors
  int threads = 0;
  std::shared_ptr<device::Device> device = {};  // null: the processors
  bool quiet = false;
  std::vector<std::string> labels;  // names of the network's classes; empty: not known
  std::string detections;           // file to write them to, as COCO's results; empty: none
};

// Runs the loader's pictures through the network (locations and scores) and scores what it finds
// against their boxes.
report::Document evaluate_detector(Graph graph, const data::Dataset& set, data::Loader& loader,
                                   const DetectorTest& request);

}  // namespace trainyard::cli
