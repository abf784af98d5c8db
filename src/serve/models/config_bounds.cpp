#include "serve/models/config_bounds.h"

#include <fmt/format.h>

#include "base/within.h"

namespace trainyard::serve {

// As the flags of the same meaning; see docs/limits.md.
void check_bounds(const ModelConfig& config, std::string_view origin) {
  constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;
  constexpr int64_t kMostListed = 1'000;
  const auto within = [&](std::string_view field, int64_t value, int64_t most) {
    require_within<int64_t>(fmt::format("{}: field '{}'", origin, field), value, 0, most);
  };
  const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  within("max_batch_size", config.max_batch.value_or(0), 1'024);
  within("dynamic_batching.preferred_batch_size (how many)", count(config.preferred_batches), 64);
  within("dynamic_batching.max_queue_delay_microseconds", config.max_delay.count(), kDayUs);
  within("dynamic_batching.priority_levels", config.priority_levels, 1'000);
  within("dynamic_batching.default_priority_level", config.default_priority, 1'000);
  within("default_queue_policy.max_queue_size", config.max_queue, 1'000'000);
  within("default_queue_policy.default_timeout_microseconds",
         config.default_timeout.value_or(std::chrono::microseconds(0)).count(), kDayUs);
  within("instance_group.count", config.instances, 64);
  within("optimization.execution.threads", config.threads, 1'024);
  within("version_policy.specific.versions (how many)", count(config.versions.listed), kMostListed);
  within("version_policy.latest.num_versions", config.versions.latest, kMostListed);
  within("model_warmup (how many)", count(config.warm_ups), 64);
  for (const WarmUp& entry : config.warm_ups) {
    within("model_warmup.count", entry.count, 1'000);
    within("model_warmup.batch_size", entry.batch, 1'024);
  }
}

}  // namespace trainyard::serve
