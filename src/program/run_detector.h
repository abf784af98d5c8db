// `run` for detectors: pictures in, boxes out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/compiler.h"
#include "ir/graph.h"
#include "models/onnx/metadata.h"
#include "report/document.h"

namespace trainyard::cli {

struct DetectorRequest {
  std::string model;                // as it was named
  std::vector<std::string> inputs;  // pictures, or folders of them
  std::vector<std::string> labels;  // of classes; may be too short
  std::string draw;                 // the picture to write; empty: none
  bool shown = false;               // a picture that is written is part of the document too
  double threshold = 0.5;
};

// Whether the network is a detector and all inputs are pictures (or folders).
bool is_detection(const Graph& graph, const std::vector<std::string>& inputs);

// Runs every picture and says what is in it: a table, JSON with detections, and if asked for a
// picture with boxes, a sheet of them if there are several.
report::Document run_detector(Graph graph, const onnx_io::Metadata& metadata,
                              const DetectorRequest& request,
                              const runtime::CompileOptions& options);

}  // namespace trainyard::cli
