#include "data/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace trainyard::data {
namespace {

void shuffle(std::span<int64_t> order, const RandomStream& random) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  if (!options_.groups.empty()) options_.size = 0;
  for (const SampleGroup& group : options_.groups) {
    TY_REQUIRE(group.draws >= 0 && (group.draws == 0 || !group.members.empty()),
               "{} samples are to be drawn from a group of {}", group.draws, group.members.size());
    options_.size += group.draws;
  }
  order_.resize(static_cast<size_t>(options_.size));
  TY_REQUIRE(options.batch > 0, "the batch is {}, expected at least 1", options.batch);
  TY_REQUIRE(0 <= options.rank && options.rank < options.world, "rank {} is outside 0 to {}",
             options.rank, options.world - 1);
  TY_REQUIRE(options.batch <= INT64_MAX / options.world, "a batch of {} on {} workers is too large",
             options.batch, options.world);
  if (options_.round == 0) options_.round = options.batch * options.world;
  // In a shorter last round anyone may get the largest share.
  const int64_t most = options_.drop_last ? share_of(options_.round, options_.rank, options_.world)
                                          : (options_.round + options_.world - 1) / options_.world;
  TY_REQUIRE(most <= options_.batch, "a round of {} samples on {} workers needs batches of {}",
             options_.round, options_.world, most);
  num_batches_ = options_.size / options_.round;
  if (!options.drop_last && options_.size % options_.round != 0) ++num_batches_;
  TY_REQUIRE(num_batches_ > 0,
             "the {} samples do not fill one batch of {}{}; make the batch smaller", options_.size,
             options_.round,
             options.world > 1 ? fmt::format(" for {} workers", options.world) : std::string());
  start_epoch(0);
}

void Sampler::start_epoch(int64_t epoch) {
  if (options_.groups.empty()) {
    std::iota(order_.begin(), order_.end(), 0);
  } else {
    draw_groups(epoch);
  }
  if (!options_.shuffle) return;
  shuffle(order_, RandomStream(options_.seed, mix_bits(static_cast<uint64_t>(epoch))));
}

// Whole rounds of a group's members, then a part of a round in random order.
void Sampler::draw_groups(int64_t epoch) {
  auto out = order_.begin();
  for (size_t g = 0; g < options_.groups.size(); ++g) {
    std::vector<int64_t> members = options_.groups[g].members;
    shuffle(members, RandomStream(options_.seed + g + 1, mix_bits(static_cast<uint64_t>(epoch))));
    for (int64_t left = options_.groups[g].draws; left > 0;) {
      const int64_t taken = std::min(left, static_cast<int64_t>(members.size()));
      out = std::copy_n(members.begin(), taken, out);
      left -= taken;
    }
  }
}

std::span<const int64_t> Sampler::samples(int64_t index) const {
  const int64_t first = index * options_.round;
  const int64_t count = std::min(options_.round, options_.size - first);
  const int64_t begin = count * options_.rank / options_.world;
  const int64_t share = share_of(count, options_.rank, options_.world);
  return std::span<const int64_t>(order_).subspan(static_cast<size_t>(first + begin),
                                                  static_cast<size_t>(share));
}

}  // namespace trainyard::data
