#include <algorithm>
#include <cmath>

#include "rl/replay/samplers.h"
#include "rl/replay/sum_tree.h"

namespace trainyard::rl {
namespace {

class ProportionalSampler final : public Sampler {
 public:
  ProportionalSampler(const SamplerOptions& options, int64_t capacity)
      : options_(options), tree_(capacity) {}

  void add(int64_t slot, double error) override {
    count_ += tree_.value(slot) > 0 ? 0 : 1;
    tree_.set(slot, error < 0 ? largest_ : noted(error));
  }
  void remove(int64_t slot) override {
    count_ -= tree_.value(slot) > 0 ? 1 : 0;
    tree_.set(slot, 0);
  }
  void update(std::span<const int64_t> slots, std::span<const float> errors) override {
    for (size_t i = 0; i < slots.size(); ++i) {
      // Emptied since it was sampled.
      if (tree_.value(slots[i]) > 0) tree_.set(slots[i], noted(static_cast<double>(errors[i])));
    }
  }

  void sample(std::span<int64_t> slots, std::span<float> weights, double beta,
              EventStream& chance) override {
    const double share = tree_.total() / static_cast<double>(slots.size());
    probabilities_.resize(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i] = tree_.find((static_cast<double>(i) + chance.uniform()) * share);
      probabilities_[i] = probability(slots[i]);
    }
    importance_weights(probabilities_, static_cast<double>(count_), beta, weights);
  }

  double probability(int64_t slot) const override { return tree_.value(slot) / tree_.total(); }

  // To the power of alpha; the largest last.
  std::vector<double> priorities() const override {
    std::vector<double> all(static_cast<size_t>(tree_.size()) + 1);
    for (int64_t slot = 0; slot < tree_.size(); ++slot) {
      all[static_cast<size_t>(slot)] = tree_.value(slot);
    }
    all.back() = largest_;
    return all;
  }
  void set_priorities(std::span<const double> all, int64_t /*filled*/) override {
    require_priorities(all, tree_.size() + 1);
    count_ = 0;
    for (int64_t slot = 0; slot < tree_.size(); ++slot) {
      const double value = all[static_cast<size_t>(slot)];
      tree_.set(slot, value);
      count_ += value > 0 ? 1 : 0;
    }
    largest_ = all.back();
  }

 private:
  // All sums above a NaN would be NaN.
  double noted(double error) {
    require_finite(error);
    const double priority = std::pow(std::abs(error) + options_.epsilon, options_.alpha);
    largest_ = std::max(largest_, priority);
    return priority;
  }

  SamplerOptions options_;
  SumTree tree_;
  int64_t count_ = 0;
  double largest_ = 1;
  std::vector<double> probabilities_;
};

}  // namespace

std::unique_ptr<Sampler> make_proportional_sampler(const SamplerOptions& options,
                                                   int64_t capacity) {
  return std::make_unique<ProportionalSampler>(options, capacity);
}

}  // namespace trainyard::rl
