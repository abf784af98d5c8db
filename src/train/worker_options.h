// What one worker makes of the settings that all workers share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/loader.h"
#include "train/train_config.h"
#include "train/training_step.h"

namespace trainyard::train {

// Which worker it is.
struct WorkerIdentity {
  int64_t rank = 0;
  int64_t workers = 1;
  int threads = 0;                              // 0: all cores
  kernels::Exchange* exchange = nullptr;        // with the others
  std::shared_ptr<device::Device> device = {};  // null: the processors
};

// Samples of a step; the shares of all workers make the batch.
int64_t own_batch(const TrainConfig& config, const WorkerIdentity& place);
// Copies of each that pass through the network together, and how many passes that makes.
int64_t copies_at_once(const TrainConfig& config);
int64_t passes_of_step(const TrainConfig& config);

StepOptions step_options(const TrainConfig& config, const WorkerIdentity& place,
                         Objective objective);
data::LoaderOptions training_loader(const TrainConfig& config, const WorkerIdentity& place,
                                    const data::Dataset& training);
data::LoaderOptions test_loader(const TrainConfig& config, const WorkerIdentity& place,
                                const data::Augmentations& training);

// What workers must have in common, one line for each fact.
std::vector<std::string> common_facts(const TrainConfig& config, const Graph& model,
                                      const data::Dataset& training, std::string_view version);

}  // namespace trainyard::train
