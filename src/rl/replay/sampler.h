// Which transitions a learner sees: uniformly, by priority, or by the rank of their priority
// (Schaul et al.: Prioritized Experience Replay, ICLR 2016).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rl/env/event_stream.h"

namespace trainyard::rl {

struct SamplerOptions {
  std::string kind = "uniform";  // uniform, proportional or rank
  double alpha = 0.6;            // exponent of the priority
  double epsilon = 1e-6;         // added to |td|, so that nothing is forgotten (proportional)
};
const std::vector<std::string>& sampler_names();

// Over the slots 0 … capacity-1 of a replay memory. Not thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // A slot is filled. `error` is |td| if its writer computed one; less than 0: it gets the largest
  // priority so far. Samplers by priority throw Failure for an error that is not finite, here and
  // in update().
  virtual void add(int64_t slot, double error) = 0;
  virtual void remove(int64_t slot) = 0;
  // Learned: the errors of slots that were sampled and are still filled.
  virtual void update(std::span<const int64_t> slots, std::span<const float> errors) = 0;
  // `slots` by their probability P, one of each of as many equal shares of it, and the weights
  // (N P)^-beta divided by the largest of the batch. At least one slot must be filled.
  virtual void sample(std::span<int64_t> slots, std::span<float> weights, double beta,
                      EventStream& chance) = 0;
  virtual double probability(int64_t slot) const = 0;

  // What errors the slots stand for, and the largest priority so far; for checkpoints and charts.
  // Nothing for a uniform one.
  virtual std::vector<double> priorities() const { return {}; }
  // Of so many filled slots. Throws Error for numbers that priorities() of such a sampler never
  // gives.
  virtual void set_priorities(std::span<const double> /*all*/, int64_t /*filled*/) {}
};

// Throws Error for a kind that is not one of sampler_names(), and for alpha below 0.
std::unique_ptr<Sampler> make_sampler(const SamplerOptions& options, int64_t capacity);

// In place: the weights of probabilities, as Sampler::sample gives them.
void importance_weights(std::span<const double> probabilities, double count, double beta,
                        std::span<float> weights);

}  // namespace trainyard::rl
