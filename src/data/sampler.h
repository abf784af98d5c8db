// Which samples form which batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::data {

// Samples of which every epoch takes so many: each equally often, to within one.
struct SampleGroup {
  std::vector<int64_t> members;
  int64_t draws = 0;
};

struct SamplerOptions {
  int64_t size = 0;   // of the data set
  int64_t batch = 1;  // of one worker
  bool shuffle = false;
  uint64_t seed = 1;
  int64_t rank = 0;  // which of the workers this is
  int64_t world = 1;
  bool drop_last = false;
  // Samples of all workers in one step; 0: world * batch. `batch` must hold this worker's share.
  int64_t round = 0;
  // Empty: an epoch has every sample once. Otherwise what the groups say, in another choice each
  // epoch; `size` is then not used.
  std::vector<SampleGroup> groups = {};
};

// How many of `count` samples worker `rank` gets if they are dealt out as evenly as can be.
constexpr int64_t share_of(int64_t count, int64_t rank, int64_t world) {
  return count * (rank + 1) / world - count * rank / world;
}

// The epoch's order is a permutation that depends on seed and epoch alone. It is cut into rounds,
// of which worker r takes the r-th part: what a round holds does not depend on how many workers
// share it. The rest at the end is dropped, or dealt out as evenly as can be.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  void start_epoch(int64_t epoch);
  // The same for every rank.
  int64_t num_batches() const { return num_batches_; }
  // The samples of this worker's batch `index`: `batch` of them, fewer (even none) in the last.
  std::span<const int64_t> samples(int64_t index) const;

 private:
  void draw_groups(int64_t epoch);

  SamplerOptions options_;
  int64_t num_batches_ = 0;
  std::vector<int64_t> order_;
};

}  // namespace trainyard::data
