// A detector as a file that needs nothing else: from pixels to boxes, with its labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "models/detection/decoder.h"
#include "models/model_notes.h"
#include "models/onnx/metadata.h"

namespace trainyard::detect {

// Beside those of onnx_io/metadata.h. Numbers as text; means and deviations by channel, with '/'.
inline constexpr const char* kTaskKey = "trainyard.task";  // "detection"
inline constexpr const char* kSizeKey = "trainyard.size";  // of the input, as 300x300
inline constexpr const char* kMeanKey = "trainyard.mean";
inline constexpr const char* kStdKey = "trainyard.std";
inline constexpr const char* kScoreKey = "trainyard.score_threshold";
inline constexpr const char* kOverlapKey = "trainyard.iou_threshold";

// The shapes of the priors that a detector was trained with; none: SSD's.
std::vector<PriorShape> shapes_of(const onnx_io::Metadata& known);

// What SSD's pictures go through unless its file says otherwise; `image` is the side of its input.
network::Preparation usual_preparation(int64_t image);

// Replaces the outputs of a detector by decoded ones: detections of one picture (boxes, labels,
// scores), or with `raw` scores and boxes of every prior. The normalization that ends the steps
// moves into the graph, so that the input is a picture in [0, 1]. Returns what the file is to say
// of itself; `known` is what the model said before.
onnx_io::Metadata prepare_export(Graph& graph, const onnx_io::Metadata& known, bool raw,
                                 const DecoderOptions& options);

// Whether the outputs are detections as prepare_export() makes them: boxes, labels and scores.
bool gives_detections(const Graph& graph);

struct FoundObject {
  int64_t label = 0;  // from 0
  double score = 0;
  Region region;  // in pixels of the picture, inside of it
};

// The outputs of such a network, of a picture of this size, best first; at least `threshold`.
std::vector<FoundObject> found_objects(const Tensor& boxes, const Tensor& labels,
                                       const Tensor& scores, int64_t height, int64_t width,
                                       double threshold);

}  // namespace trainyard::detect
