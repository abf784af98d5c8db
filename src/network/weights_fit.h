// How tensors of a file and parameters of a network go together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "network/network.h"
#include "runs/weights/weights_file.h"

namespace trainyard::network {

struct WeightsFit {
  struct Pair {
    ValueId parameter;
    size_t tensor;  // of the file
  };
  struct Misfit {
    std::string name;
    TensorType found;
    TensorType expected;
  };
  std::vector<Pair> pairs;
  std::vector<std::string> missing;   // parameters without a tensor
  std::vector<std::string> surplus;   // tensors without a parameter
  std::vector<std::string> training;  // surplus that inference can do without
  std::vector<Misfit> misfits;        // right name, wrong shape

  bool complete() const { return missing.empty() && surplus.empty() && misfits.empty(); }
};

// Finds a parameter for each tensor by what it may be called (weight_names.h). Elements may be
// floats of another width.
WeightsFit fit_weights(const Graph& graph, const runs::WeightsFile& file);

// The tensor of a pair as the parameter wants it.
Tensor fitted_tensor(const Graph& graph, const runs::WeightsFile& file,
                     const WeightsFit::Pair& pair);

// A line for each difference, at most `most` of them.
std::string differences_text(const WeightsFit& fit, size_t most);

// The classes that a file has if the classifier is all that differs from the network.
std::optional<int64_t> classes_of_misfits(const WeightsFit& fit);

// The network of `request` with as many classes as the file has where the request does not say.
struct FittedNetwork {
  Graph graph;
  WeightsFit fit;
};
FittedNetwork fit_network(Request request, const runs::WeightsFile& file);

}  // namespace trainyard::network
