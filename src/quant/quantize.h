// From a float network to an int8 one that is good enough, and what that cost where.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/loader.h"
#include "ir/graph.h"
#include "quant/calibrate.h"
#include "quant/results.h"

namespace trainyard::quant {

struct QuantizedQuality {
  std::optional<double> top1;  // absent: the data has no classes, or the network does not tell them
  double output_sqnr_db = 0;   // of all outputs, against those of the float network
};

// Runs networks on the same pictures. The loader must outlive it.
class QualityJudge {
 public:
  // The first `images` pictures of the loader's epoch 0. `classes`: how many the data has; 0: none.
  QualityJudge(data::Loader& loader, int64_t images, int64_t classes, int threads);

  // Remembers the outputs of the float network for the others to be compared with.
  QuantizedQuality reference(const Graph& graph);
  QuantizedQuality of(const Graph& graph);
  // Pictures that the last one was judged by.
  int64_t images() const { return images_; }

 private:
  QuantizedQuality run(const Graph& graph, bool remember);

  data::Loader& loader_;
  int64_t most_;
  int64_t classes_;
  int threads_;
  int64_t images_ = 0;
  // Outputs of the first kCompared pictures, batch after batch.
  std::vector<std::vector<float>> exact_;
};

struct Settings {
  RangeRule activations;
  bool per_channel = true;
  int64_t weight_bits = 8;
  bool reduced = false;  // weights of 8 bits use 7 of them
  WeightRange weight_range = WeightRange::kMax;
  bool integer_operators = false;  // QLinear operators in place of pairs
  bool equalize = false;
  bool correct_biases = false;
  // Layers that stay in float: names, or beginnings of names that end in '*'.
  std::vector<std::string> keep_float;
  std::optional<double> max_drop;  // points of top-1
  bool sensitivity = false;
  bool parts = false;               // accuracy after weights, activations and biases
  std::vector<int64_t> study_bits;  // accuracy with so many bits
  bool keep_slow_layers = false;    // layers that int8 does not make faster stay in float
  bool histograms = false;          // bars of weights and inputs
  double time_s = 0;                // for timing each network; 0: not at all
  int64_t calibration_images = 128;
  int64_t test_images = 2000;
  int64_t sensitivity_images = 256;
  uint64_t seed = 0;
  int threads = 1;
};

// The pictures; loaders make batches of the network's. Null: there are none.
struct Pictures {
  data::Loader* calibration = nullptr;
  data::Loader* test = nullptr;
  int64_t classes = 0;  // of the data; 0: it has none
};

struct Quantized {
  Graph graph;
  QuantizeResult result;  // all but bytes and times of whole networks
};

// Throws Error for what cannot be quantized, naming layer or value. `network` has the batch of the
// loaders.
Quantized quantize(Graph network, const Settings& settings, const Pictures& pictures,
                   const Progress& progress);

}  // namespace trainyard::quant
