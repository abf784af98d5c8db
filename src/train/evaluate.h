// How well a network does on a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/loader.h"
#include "ir/graph.h"
#include "runs/test_predictions.h"
#include "train/score.h"

namespace trainyard::device {
class Device;
}

namespace trainyard::train {

struct Evaluation {
  int64_t images = 0;
  std::vector<Score> scores;  // in the order of reports
  // The score by which an epoch is the best, and whether more of it is better.
  std::string decides;
  bool higher_is_better = true;
  // Of classes: confusion[truth * classes + guess], how many images.
  int64_t classes = 0;
  std::vector<int64_t> confusion;
  std::vector<runs::SamplePrediction> guesses;  // of the samples that this worker tested
  // From the first batch to the last, waiting for data included, compiling not.
  double seconds = 0;

  // Throws Error if there is no such score.
  double score(std::string_view name) const;
};

// Those that test a part of the data set each.
struct TestTeam {
  int64_t rank = 0;
  int64_t workers = 1;
  // Replaces numbers by their sums over all workers, which call it with as many; empty: one worker
  // tests everything.
  std::function<void(std::span<double>)> sum = {};
};

// Judges one batch after the other. Not thread-safe.
class Evaluator {
 public:
  Evaluator() = default;
  virtual ~Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // The network's outputs for the batch, of which the first batch.valid samples count. Throws Error
  // for targets that do not fit.
  virtual void add(std::span<const Tensor* const> outputs, const data::Batch& batch) = 0;
  virtual Evaluation result() const = 0;
  // Everything that was seen, as numbers.
  virtual std::vector<double> sums() const = 0;
  virtual void set_sums(std::span<const double> sums) = 0;
  // From what this worker has seen to what all have seen: by default sums() of all added up.
  virtual void combine(const TestTeam& team);
};

// Makes one for a network, whose outputs it may change to what it wants to see: scores in place of
// probabilities, say. Throws Error for outputs that it cannot judge.
using MakeEvaluator = std::function<std::unique_ptr<Evaluator>(Graph& model)>;

// Several as one: their scores one after the other, the first decides. Not empty.
std::unique_ptr<Evaluator> join_evaluators(std::vector<std::unique_ptr<Evaluator>> parts);

// Compiles `model` for use (its weights as they are in the graph) and runs one epoch of `loader`,
// whose batches must have the shape of the model's input. threads = 0: all cores. On `device`, if
// there is one.
Evaluation evaluate(Graph model, data::Loader& loader, const MakeEvaluator& make, int threads,
                    const TestTeam& team = {}, std::shared_ptr<device::Device> device = {});

// The numbers of all workers one after the other, in the order of ranks; for combine().
std::vector<double> gather(const TestTeam& team, std::span<const double> own);

}  // namespace trainyard::train
