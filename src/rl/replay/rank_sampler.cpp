// P is 1 / rank^alpha. Ranks are places in a heap, which is nearly sorted, and sorted anew now and
// then, as the paper does.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "rl/replay/samplers.h"

namespace trainyard::rl {
namespace {

class RankSampler final : public Sampler {
 public:
  RankSampler(const SamplerOptions& options, int64_t capacity)
      : where_(static_cast<size_t>(capacity), -1), running_(static_cast<size_t>(capacity) + 1, 0) {
    for (size_t rank = 1; rank < running_.size(); ++rank) {
      running_[rank] = running_[rank - 1] + std::pow(static_cast<double>(rank), -options.alpha);
    }
  }

  void add(int64_t slot, double error) override {
    where_[static_cast<size_t>(slot)] = static_cast<int64_t>(heap_.size());
    heap_.push_back({error < 0 ? largest_ : noted(error), slot});
    rise(heap_.size() - 1);
    sort_now_and_then();
  }

  void remove(int64_t slot) override {
    const int64_t place = where_[static_cast<size_t>(slot)];
    TY_CHECK(place >= 0, "slot {} is empty", slot);
    swap_entries(static_cast<size_t>(place), heap_.size() - 1);
    heap_.pop_back();
    where_[static_cast<size_t>(slot)] = -1;
    if (static_cast<size_t>(place) < heap_.size()) settle(static_cast<size_t>(place));
  }

  void update(std::span<const int64_t> slots, std::span<const float> errors) override {
    for (size_t i = 0; i < slots.size(); ++i) {
      const int64_t place = where_[static_cast<size_t>(slots[i])];
      if (place < 0) continue;
      heap_[static_cast<size_t>(place)].error = noted(static_cast<double>(errors[i]));
      settle(static_cast<size_t>(place));
      sort_now_and_then();
    }
  }

  void sample(std::span<int64_t> slots, std::span<float> weights, double beta,
              EventStream& chance) override {
    const double share = running_[heap_.size()] / static_cast<double>(slots.size());
    probabilities_.resize(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const double mass = (static_cast<double>(i) + chance.uniform()) * share;
      const auto end = running_.begin() + static_cast<int64_t>(heap_.size()) + 1;
      const auto found = std::upper_bound(running_.begin() + 1, end, mass);
      const size_t place =
          std::min(static_cast<size_t>(found - running_.begin()) - 1, heap_.size() - 1);
      slots[i] = heap_[place].slot;
      probabilities_[i] = at(place);
    }
    importance_weights(probabilities_, static_cast<double>(heap_.size()), beta, weights);
  }

  double probability(int64_t slot) const override {
    const int64_t place = where_[static_cast<size_t>(slot)];
    return place < 0 ? 0 : at(static_cast<size_t>(place));
  }

  // Slot and error by turns in the order of the heap, then the largest error and the changes since
  // the last sorting.
  std::vector<double> priorities() const override {
    std::vector<double> all;
    for (const Entry& entry : heap_) {
      all.push_back(static_cast<double>(entry.slot));
      all.push_back(entry.error);
    }
    all.push_back(largest_);
    all.push_back(static_cast<double>(changes_));
    return all;
  }
  void set_priorities(std::span<const double> all, int64_t filled) override {
    require_priorities(all, 2 * filled + 2);
    heap_.clear();
    std::fill(where_.begin(), where_.end(), -1);
    for (size_t i = 0; i + 2 < all.size(); i += 2) {
      const int64_t slot = read_slot(all[i], where_);
      where_[static_cast<size_t>(slot)] = static_cast<int64_t>(heap_.size());
      heap_.push_back({all[i + 1], slot});
    }
    largest_ = all[all.size() - 2];
    TY_REQUIRE(all.back() >= 0 && all.back() <= static_cast<double>(where_.size()),
               "the priorities have {} changes, expected 0 to {}", all.back(), where_.size());
    changes_ = static_cast<size_t>(all.back());
  }

 private:
  struct Entry {
    double error = 0;
    int64_t slot = 0;
  };

  double at(size_t place) const {
    return (running_[place + 1] - running_[place]) / running_[heap_.size()];
  }
  // A NaN has no rank, and sorting needs an order.
  double noted(double error) {
    require_finite(error);
    largest_ = std::max(largest_, std::abs(error));
    return std::abs(error);
  }
  void swap_entries(size_t a, size_t b) {
    std::swap(heap_[a], heap_[b]);
    where_[static_cast<size_t>(heap_[a].slot)] = static_cast<int64_t>(a);
    where_[static_cast<size_t>(heap_[b].slot)] = static_cast<int64_t>(b);
  }
  void rise(size_t place) {
    while (place > 0 && heap_[place].error > heap_[(place - 1) / 2].error) {
      swap_entries(place, (place - 1) / 2);
      place = (place - 1) / 2;
    }
  }
  void sink(size_t place) {
    for (;;) {
      size_t largest = place;
      for (const size_t child : {2 * place + 1, 2 * place + 2}) {
        if (child < heap_.size() && heap_[child].error > heap_[largest].error) largest = child;
      }
      if (largest == place) return;
      swap_entries(place, largest);
      place = largest;
    }
  }
  void settle(size_t place) {
    rise(place);
    sink(place);
  }
  // A sorted row is a heap. The more there are, the less often, so that it costs little.
  void sort_now_and_then() {
    if (++changes_ < heap_.size()) return;
    changes_ = 0;
    std::sort(heap_.begin(), heap_.end(), [](const Entry& a, const Entry& b) {
      return a.error != b.error ? a.error > b.error : a.slot < b.slot;
    });
    for (size_t i = 0; i < heap_.size(); ++i) {
      where_[static_cast<size_t>(heap_[i].slot)] = static_cast<int64_t>(i);
    }
  }

  std::vector<Entry> heap_;
  std::vector<int64_t> where_;   // of each slot in the heap; -1: nowhere
  std::vector<double> running_;  // sum of 1 / rank^alpha up to each rank
  double largest_ = 1;
  size_t changes_ = 0;
  std::vector<double> probabilities_;
};

}  // namespace

std::unique_ptr<Sampler> make_rank_sampler(const SamplerOptions& options, int64_t capacity) {
  return std::make_unique<RankSampler>(options, capacity);
}

}  // namespace trainyard::rl
