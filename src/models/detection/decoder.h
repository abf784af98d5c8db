// From a detector's numbers to boxes, as nodes: what training leaves out and everybody else needs.
#pragma once

#include <span>

#include "ir/graph.h"
#include "models/detection/priors.h"
#include "ops/builder.h"

namespace trainyard::detect {

// pytorch-ssd's.
inline constexpr double kScoreThreshold = 0.01;
inline constexpr double kSuppressionOverlap = 0.45;
inline constexpr int64_t kMostPerClass = 200;

struct DecoderOptions {
  double score = kScoreThreshold;  // boxes with less are dropped
  double overlap = kSuppressionOverlap;
  int64_t most_per_class = kMostPerClass;
  int64_t most = 200;  // boxes of one picture
};

// A graph of which the two outputs are those of the zoo's SSD, at its own size.
bool is_detector(const Graph& graph);
// How many maps it has, by the number of its priors: kMaps or kMapsWithFine. Throws Error for
// others.
size_t maps_of(const Graph& graph);
// Its priors, by the size of the input and of these shapes; none: SSD's. Throws Error if there are
// not as many as it has priors at a position of each map.
std::vector<Prior> priors_of(const Graph& graph, std::span<const PriorShape> shapes);

struct DecodedBoxes {
  ValueId boxes;   // N x priors x 4: left, top, right, bottom in shares of the picture, not cut off
  ValueId scores;  // N x priors x classes: probabilities, background first
};
DecodedBoxes add_decoder(ops::Builder& builder, ValueId locations, ValueId scores,
                         std::span<const Prior> priors);

struct SelectedBoxes {
  ValueId boxes;     // N x priors x 4
  ValueId scores;    // N x (classes - 1) x priors
  ValueId selected;  // M x 3: picture, class (from 0, without background), prior
};
SelectedBoxes add_suppression(ops::Builder& builder, const DecodedBoxes& decoded,
                              const DecoderOptions& options);

// Replaces the outputs of a detector, which was trained with priors of these shapes, by `boxes` and
// `scores` of add_decoder().
void decode_outputs(Graph& graph, std::span<const PriorShape> shapes);

// Replaces them by the detections of each picture, best first: boxes (N x M x 4), labels (N x M,
// from 0, without background) and scores (N x M). Of one picture there are as many as are found, of
// several options.most each: where there are fewer, the last scores are 0 and labels -1.
void detect_outputs(Graph& graph, std::span<const PriorShape> shapes,
                    const DecoderOptions& options);

}  // namespace trainyard::detect
