// A trained network for other classes: what it has learned, and a new last layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "ir/graph.h"

namespace trainyard::recipes {

struct TransferNetwork {
  Graph graph;                // one output, logits
  std::string features = {};  // the value that the new layer reads: images x numbers
  std::string head_weight = {};
  std::string head_bias = {};
  // The parameters of each layer from the input on, without the new one. Normalization belongs to
  // the layer before it.
  std::vector<std::vector<std::string>> layers = {};
};

// Puts a linear layer for `classes` in the place of the last one, whose weights are forgotten.
// Throws Error unless the first output is a linear layer's, or the Softmax of one.
TransferNetwork replace_head(Graph graph, int64_t classes);

// The network up to the features.
Graph features_of(const TransferNetwork& network);

// What is trained.
struct TransferMode {
  enum class Kind : uint8_t { kFinetune, kFeatures, kPartial };
  Kind kind = Kind::kFinetune;
  int64_t layers = 0;  // kPartial: so many before the new one

  // "finetune", "features", "partial:3".
  std::string text() const;
};
// Throws Error with the nearest name.
TransferMode parse_transfer_mode(const std::string& text);

// Names of the parameters that stay as they are. Throws Error if the network has fewer layers than
// are asked for.
std::vector<std::string> frozen_parameters(const TransferNetwork& network,
                                           const TransferMode& mode);

// "NAME=SHARE,…": each layer learns at `factor` of the rate of the next, the new one at the rate
// itself. Empty for a factor of 1.
std::string discriminative_rates(const TransferNetwork& network, double factor);

// Steps from a picture of the set to an input of this shape (1 x channels x height x width) for
// those who say nothing: resized, gray or colored as needed, normalized.
std::string fitting_steps(const data::Dataset& set, const Shape& input);

}  // namespace trainyard::recipes
