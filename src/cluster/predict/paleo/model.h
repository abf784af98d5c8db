// The PALEO model: a list of layers in, times of an iteration and its communication out.
//
// Everything is reproduced as published, quirks included (docs/predict-paleo.md). Times are in
// milliseconds. The four communication schemes and the model/hybrid parallelism are PALEO's own;
// the ones of this project are in predict/comm.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/predict/paleo/cost.h"

namespace trainyard::predict::paleo {

enum class LayerKind : uint8_t { kConv, kDeconv, kLinear, kPool, kDropout, kFree };

// Sizes are those of one image. kDeconv holds the convolution that maps its output to its input.
// kLinear uses cin and cout; kPool the window kh x kw and the element counts; kDropout in_elements.
struct Layer {
  std::string name;
  LayerKind kind = LayerKind::kFree;
  ConvShape conv = {};
  int64_t in_elements = 0;
  int64_t out_elements = 0;
  bool fed_by_data = false;  // then no gradient with respect to the data is charged

  // Weights and one bias per output channel, which PALEO always counts.
  int64_t parameters() const;
};

struct Net {
  std::string name;
  std::vector<Layer> layers;

  double weight_bytes() const;
};

enum class Pass : uint8_t { kForward, kDataGradient, kFilterGradient };

// Which algorithm a convolution uses in a pass; PALEO asks cuDNN on the machine it runs on, so
// there is nothing to model. An empty function means matrix products throughout.
using AlgorithmChoice = std::function<Algorithm(const Layer&, Pass)>;

struct Options {
  Variant variant = Variant::kHead;
  Machine machine;
  PercentOfPeak percent;
  bool pipelined = false;
  AlgorithmChoice algorithm;
};

Times layer_times(const Layer& layer, int64_t batch, Pass pass, const Options& options);

struct Iteration {
  double forward_ms = 0;
  double backward_ms = 0;
  double update_ms = 0;
  double compute_ms() const { return forward_ms + backward_ms + update_ms; }
};

// One iteration of `batch` images on one worker.
Iteration iteration(const Net& net, int64_t batch, const Options& options);

enum class Scheme : uint8_t { kOneToAll, kTree, kButterfly, kButterflyMixing };

// One synchronization of `weight_bytes` among `workers`: no latency, no overlap.
double scheme_ms(Scheme scheme, int64_t workers, double weight_bytes, double gbit_per_s,
                 double percent_network);

// A run of layers [first, last] that is split over the workers; the layers around it stay data
// parallel, as in "one weird trick".
struct Split {
  size_t first = 0;
  size_t last = 0;
};

struct Hybrid {
  Iteration data;
  Iteration model;
  double sync_ms = 0;  // tree over the data-parallel weights
};
Hybrid hybrid_iteration(const Net& net, const Split& split, int64_t batch, int64_t workers,
                        double gbit_per_s, const Options& options);

// Pure model parallelism: both passes with the splits side by side (lower) and one after another
// (upper). Throws Error for more than four workers, where PALEO itself stops.
struct ModelParallel {
  double forward_lower_ms = 0, forward_upper_ms = 0;
  double backward_lower_ms = 0, backward_upper_ms = 0;
};
ModelParallel model_parallel(const Net& net, const Split& split, int64_t batch, int64_t workers,
                             const Options& options);

}  // namespace trainyard::predict::paleo
