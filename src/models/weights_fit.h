// How tensors of a file and parameters of a network go together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "models/network.h"
#include "runs/weights/weights_file.h"

namespace trainyard::network {

struct WeightsFit {
  struct Pair {
    ValueId parameter;
    size_t tensor;  // of the file
  };
  struct WeightMismatch {
    std::string name;
    TensorType found;
    TensorType expected;
  };
  // A parameter that is one number throughout.
  struct Fixed {
    ValueId parameter;
    float value;
  };
  std::vector<Pair> pairs;
  std::vector<Fixed> fixed;
  std::vector<std::string> missing;     // parameters without a tensor
  std::vector<std::string> surplus;     // tensors without a parameter
  std::vector<std::string> training;    // surplus that inference can do without
  std::vector<WeightMismatch> misfits;  // right name, wrong shape

  bool complete() const { return missing.empty() && surplus.empty() && misfits.empty(); }
};

// Finds a parameter for each tensor by what it may be called (weight_names.h), or by the order of
// the layers where the file has no names. Such files have normalization folded into the layers:
// the network's then does nothing but add the bias. Elements may be floats of another width.
WeightsFit fit_weights(const Graph& graph, const runs::WeightsFile& file);

// All of a fit's parameters with their numbers, in its order. Throws Error where a number is not
// finite.
void for_each_fitted(const Graph& graph, const runs::WeightsFile& file, const WeightsFit& fit,
                     const std::function<void(const Value&, Tensor)>& action);

// A line for each difference, at most `most` of them.
std::string differences_text(const WeightsFit& fit, size_t most);

// The classes that a file has if the classifier is all that differs from the network.
std::optional<int64_t> classes_of_misfits(const WeightsFit& fit);

// The network of `request` with as many classes as the file has where the request does not say.
struct FittedNetwork {
  Graph graph;
  WeightsFit fit;
};
// Where a file is TensorFlow's, windows begin and end as its SAME padding has them, and activations
// end at 6.
FittedNetwork fit_network(Request request, const runs::WeightsFile& file);

}  // namespace trainyard::network
