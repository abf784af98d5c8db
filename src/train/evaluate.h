// How well a network does on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/loader.h"
#include "ir/graph.h"

namespace trainyard::train {

struct Evaluation {
  int64_t images = 0;
  double loss = 0;  // mean cross-entropy
  double top1 = 0;  // share of images whose class has the highest score
  double top5 = 0;  // ... one of the five highest
  // confusion[truth * classes + guess]: how many images.
  int64_t classes = 0;
  std::vector<int64_t> confusion;
};

// Adds up one batch after the other.
class Evaluator {
 public:
  explicit Evaluator(int64_t classes);
  // Scores of the batch (images x classes) against its labels; the first `valid` images count.
  // Throws Error for a label outside the classes.
  void add(const Tensor& scores, const Tensor& labels, int64_t valid);
  Evaluation result() const;
  // Everything that is added up, to be summed over workers that test a part each.
  std::vector<double> sums() const;
  void set_sums(std::span<const double> sums);

 private:
  int64_t classes_;
  Evaluation sums_;
  double loss_ = 0;
  int64_t top1_ = 0;
  int64_t top5_ = 0;
};

// Compiles `model` for use (its weights as they are in the graph) and runs one epoch of `loader`,
// whose batches must have the shape of the model's input. threads = 0: all cores.
// `sum_over_workers` replaces numbers by their sums over those that test the other parts.
Evaluation evaluate(Graph model, data::Loader& loader, int threads,
                    const std::function<void(std::span<double>)>& sum_over_workers = {});

}  // namespace trainyard::train
