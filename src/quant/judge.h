// How good a rounded network is beside the float one.
#pragma once

#include <optional>
#include <vector>

#include "data/loader.h"
#include "ir/graph.h"
#include "quant/calibrate.h"

namespace trainyard::quant {

struct Judgment {
  std::optional<double> top1;  // absent: the data has no classes, or the network does not tell them
  double output_sqnr_db = 0;   // of all outputs, against those of the float network
};

// Runs networks on the same pictures. The loader must outlive it.
class Judge {
 public:
  // The first `images` pictures of the loader's epoch 0. `classes`: how many the data has; 0: none.
  Judge(data::Loader& loader, int64_t images, int64_t classes, int threads);

  // Remembers the outputs of the float network for the others to be compared with.
  Judgment reference(const Graph& graph);
  Judgment of(const Graph& graph);
  // Pictures that the last one was judged by.
  int64_t images() const { return images_; }

 private:
  Judgment run(const Graph& graph, bool remember);

  data::Loader& loader_;
  int64_t most_;
  int64_t classes_;
  int threads_;
  int64_t images_ = 0;
  // Outputs of the first kCompared pictures, batch after batch.
  std::vector<std::vector<float>> exact_;
};

}  // namespace trainyard::quant
