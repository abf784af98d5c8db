// Normalization for networks whose weights came with it folded in.
#pragma once

#include <map>
#include <string>

#include "data/loader.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace trainyard::train {

// New numbers for every BatchNormalization of `model`, by the names of its parameters: the
// statistics of what reaches it from the loader's pictures, and scale and shift with which the
// layer computes what it did before. The network can then be trained with statistics of batches.
// Batches must have the shape of the model's input. threads = 0: all cores.
std::map<std::string, Tensor> unfolded_normalization(const Graph& model, data::Loader& loader,
                                                     int threads);

}  // namespace trainyard::train
