// What the fullest device holds, part by part (docs/predict-transformers.md has the formulas).
#pragma once

#include <string_view>

#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {

// Bytes. The parts stand in the order in which they are taken.
struct Memory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double logits = 0;   // of the last stage, in single precision with their gradients
  double buffers = 0;  // gathered weights
  double driver = 0;   // its context, the libraries, what the allocator cannot use
  double host = 0;     // what is kept in the host's memory, no part of the sum

  // What an allocator reports at its peak.
  double allocated() const {
    return weights + gradients + optimizer + activations + logits + buffers;
  }
  double total() const { return allocated() + driver; }
};

// Parameters of the fullest device before data parallel ranks share them out.
struct RankParameters {
  double dense = 0;
  double experts = 0;
  double layers = 0;  // of the device
};
// What a device of an average stage trains: all weights, or the adapters of the dense ones.
struct TrainedParameters {
  double dense = 0;
  double experts = 0;
};
TrainedParameters trained_parameters(const Transformer& model, const Parameters& count,
                                     const Mapping& mapping);
// Of the pairs of matrices of rank `rank` beside every linear layer but those of experts.
double adapter_parameters(const Transformer& model, int64_t rank);

RankParameters rank_parameters(const Transformer& model, const Mapping& mapping);

// Bytes of activations of one micro batch on the first stage.
double micro_batch_activations(const Transformer& model, const Mapping& mapping);

Memory memory_of(const Transformer& model, const Mapping& mapping);
// "optimizer": the first part with which the sum is more than the device has; empty: it fits.
std::string_view first_that_does_not_fit(const Memory& memory, double device_bytes);
// Largest micro batch that fits, for the same data parallelism and a batch of as many as needed; 0:
// not even one sequence does.
int64_t largest_micro_batch(const Transformer& model, const Mapping& mapping, double device_bytes);

}  // namespace trainyard::transformer
