// The kinds of Sampler, one file each.
#pragma once

#include <memory>

#include "rl/replay/sampler.h"

namespace trainyard::rl {

std::unique_ptr<Sampler> make_uniform_sampler(int64_t capacity);
std::unique_ptr<Sampler> make_proportional_sampler(const SamplerOptions& options, int64_t capacity);
std::unique_ptr<Sampler> make_rank_sampler(const SamplerOptions& options, int64_t capacity);

}  // namespace trainyard::rl
