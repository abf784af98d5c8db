// The kinds of Sampler, one file each.
#pragma once

#include <memory>

#include "rl/replay/sampler.h"

namespace trainyard::rl {

std::unique_ptr<Sampler> make_uniform_sampler(int64_t capacity);
std::unique_ptr<Sampler> make_proportional_sampler(const SamplerOptions& options, int64_t capacity);
std::unique_ptr<Sampler> make_rank_sampler(const SamplerOptions& options, int64_t capacity);

// A slot among the priorities of a checkpoint. Throws Error unless it is one of `where`, which has
// the places of slots that were read before, less than 0 for none.
int64_t read_slot(double number, std::span<const int64_t> where);
// Throws Failure for NaN and infinity: the error of a network that has diverged.
void require_finite(double error);
// Throws Error unless there are as many priorities as expected, none below 0 or NaN.
void require_priorities(std::span<const double> all, int64_t expected);

}  // namespace trainyard::rl
