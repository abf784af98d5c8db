// Updates that look at a parameter as a matrix, made of operators that are there anyway: Muon and
// Adafactor. Convolution weights count as a matrix with a row for each output channel.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/builder.h"
#include "train/training_graph.h"

namespace trainyard::train {

// One parameter and what its update reads.
struct MatrixOperands {
  ValueId parameter;
  ValueId gradient;
  ValueId rate;     // f32[]
  ValueId updates;  // i64[], from 1
};

struct MatrixUpdate {
  ValueId parameter;  // the new one
  struct State {
    std::string prefix;  // of its name
    StateUpdate update;
  };
  std::vector<State> states;
};

// Which of the parameters Muon is for: matrices that are neither the table of an embedding nor the
// last of the network, which makes its outputs. By index.
std::vector<bool> muon_matrices(const Graph& graph, std::span<const ValueId> parameters);

// Muon (Jordan et al. 2024): Nesterov momentum whose singular values are brought near 1 by five
// Newton-Schulz steps. Times 0.2 * sqrt(the longer side), so that elements move as far as AdamW's
// and one rate suits both (Liu et al. 2025).
MatrixUpdate add_muon(ops::Builder& builder, const OptimizerOptions& options,
                      const MatrixOperands& operands, double decay);

// Adafactor (Shazeer and Stern 2018), in the form of PyTorch: the second moment of a matrix is kept
// as the means of its rows and columns, that of a vector whole; the rate is relative to the size of
// the parameter and at most 1 / sqrt(update).
MatrixUpdate add_adafactor(ops::Builder& builder, const MatrixOperands& operands, double decay);

}  // namespace trainyard::train
