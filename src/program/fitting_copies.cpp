#include "program/fitting_copies.h"

#include <iostream>

#include <fmt/format.h>

#include "data/sampler.h"
#include "engine/device/vector_target.h"
#include "studies/scaling/scaling.h"
#include "train/training_network.h"

namespace trainyard::cli {
namespace {

// Kernels' own copies and what else runs on the machine.
constexpr double kUsableShare = 0.8;

}  // namespace

int64_t fitting_copies(const train::TrainConfig& config, const data::Dataset& training,
                       double bytes) {
  const int64_t samples = data::share_of(config.batch, 0, config.workers);
  for (int64_t parts = 1; parts < config.batch_augment; ++parts) {
    if (config.batch_augment % parts != 0) continue;
    train::TrainConfig tried = config;
    tried.copies_at_once = config.batch_augment / parts;
    const Graph model =
        train::build_training_network(tried, training, samples * tried.copies_at_once);
    if (static_cast<double>(measure::planned_memory(tried, model)) <= bytes) {
      return tried.copies_at_once;
    }
  }
  return 1;
}

void settle_copies(train::TrainConfig& config, const data::Dataset& training) {
  if (config.batch_augment == 1 || config.copies_at_once > 0) return;
  const double free = device::free_host_memory();
  config.copies_at_once =
      fitting_copies(config, training, kUsableShare * free / static_cast<double>(config.workers));
  if (config.copies_at_once == config.batch_augment) return;
  std::cerr << fmt::format(
      "trainyard: {} copies at once do not fit into {:.1f} GB of free memory: {} at once, the "
      "gradients of {} passes added up\n",
      config.batch_augment, free / 1e9, config.copies_at_once,
      config.batch_augment / config.copies_at_once);
}

}  // namespace trainyard::cli
