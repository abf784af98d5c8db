#include <algorithm>

#include "base/error.h"
#include "rl/replay/samplers.h"

namespace trainyard::rl {
namespace {

// The filled slots stand in a row, in any order; `where` finds one of them again.
class UniformSampler final : public Sampler {
 public:
  explicit UniformSampler(int64_t capacity) : where_(static_cast<size_t>(capacity), -1) {
    filled_.reserve(where_.size());
  }

  void add(int64_t slot, double /*error*/) override {
    where_[static_cast<size_t>(slot)] = static_cast<int64_t>(filled_.size());
    filled_.push_back(slot);
  }

  void remove(int64_t slot) override {
    int64_t& place = where_[static_cast<size_t>(slot)];
    TY_CHECK(place >= 0, "slot {} is empty", slot);
    filled_[static_cast<size_t>(place)] = filled_.back();
    where_[static_cast<size_t>(filled_.back())] = place;
    filled_.pop_back();
    place = -1;
  }

  void update(std::span<const int64_t> /*slots*/, std::span<const float> /*errors*/) override {}

  void sample(std::span<int64_t> slots, std::span<float> weights, double /*beta*/,
              EventStream& chance) override {
    const auto count = static_cast<int64_t>(filled_.size());
    for (int64_t& slot : slots) slot = filled_[static_cast<size_t>(chance.between(0, count))];
    std::fill(weights.begin(), weights.end(), 1.0F);
  }

  double probability(int64_t slot) const override {
    return where_[static_cast<size_t>(slot)] < 0 ? 0 : 1.0 / static_cast<double>(filled_.size());
  }

  // The order of the row decides what the next draws mean.
  std::vector<double> priorities() const override { return {filled_.begin(), filled_.end()}; }
  void set_priorities(std::span<const double> all, int64_t filled) override {
    require_priorities(all, filled);
    filled_.clear();
    std::fill(where_.begin(), where_.end(), -1);
    for (const double slot : all) add(read_slot(slot, where_), -1);
  }

 private:
  std::vector<int64_t> filled_;
  std::vector<int64_t> where_;
};

}  // namespace

std::unique_ptr<Sampler> make_uniform_sampler(int64_t capacity) {
  return std::make_unique<UniformSampler>(capacity);
}

}  // namespace trainyard::rl
