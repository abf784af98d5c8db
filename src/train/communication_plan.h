// Everything that the workers of a run exchange, before it is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "train/train_config.h"

namespace trainyard::train {

struct CommunicationItem {
  enum class ExchangeTime : uint8_t { kStart, kStep, kEpoch };

  ExchangeTime when = ExchangeTime::kStart;
  std::string what;
  std::string how;         // "all-reduce", "broadcast from rank 0"
  int64_t bytes = 0;       // of the message, without padding of layouts
  int64_t sent_bytes = 0;  // by the busiest worker: a ring for sums, a tree for broadcasts
};

// In the order in which it happens; empty for one worker. `model` has rank 0's share of the batch.
std::vector<CommunicationItem> plan_communication(const TrainConfig& config, const Graph& model);

// What goes wrong if workers exchange gradients and nothing else.
struct MissingExchange {
  std::string left_out;
  std::string effect;
};
std::vector<MissingExchange> omissions(const TrainConfig& config);

}  // namespace trainyard::train
