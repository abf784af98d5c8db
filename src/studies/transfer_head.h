// The last layer alone, trained on features that were computed before.
#pragma once

#include <filesystem>

#include "studies/transfer.h"
#include "studies/transfer_features.h"

namespace trainyard::recipes {

// Writes metrics.jsonl, one line for each step and each epoch as the trainer does, and gives the
// head of `network` the weights of the end. Throws Failure if the loss is no longer finite or
// somebody wants to stop.
void train_head(const train::TrainConfig& config, const Features& training, const Features& test,
                TransferNetwork& network, const std::filesystem::path& folder,
                const TransferHooks& hooks);

}  // namespace trainyard::recipes
