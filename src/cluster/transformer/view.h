// The documents that `trainyard transformer` prints.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/transformer/device_counts.h"
#include "cluster/transformer/launch.h"
#include "cluster/transformer/plan.h"
#include "cluster/transformer/score.h"
#include "cluster/transformer/target.h"
#include "report/document.h"

namespace trainyard::report {

// One question with what was assumed.
struct TransformerQuestion {
  transformer::Transformer model;
  transformer::Machine machine;
  transformer::Mapping mapping;
  const transformer::FittedStack* stack = nullptr;
  // To the end of it; nothing is said of that where tokens are 0 and `to_target` is false.
  transformer::TrainingGoal goal = {};
  std::string price_source = {};
  bool to_target = false;  // of MLPerf instead of a number of tokens
  // The line that it was read from, if any.
  std::optional<transformer::Launch> launch = {};
  // The row that is most like it.
  std::optional<transformer::PublishedRow> nearest = {};
};

Document transformer_memory_document(const TransformerQuestion& question);
Document transformer_step_document(const TransformerQuestion& question);
Document transformer_plan_document(const TransformerQuestion& question,
                                   const transformer::Plan& plan);
Document transformer_models_document(std::span<const transformer::Transformer> models);
// How many devices to take.
Document transformer_counts_document(const TransformerQuestion& question,
                                     const transformer::DeviceCounts& fleets);

struct TransformerScores {
  std::vector<transformer::Score> speeds;
  std::vector<transformer::MemoryScore> memory;
  std::vector<transformer::ScoredRow> rows;  // in JSON alone
  std::vector<transformer::SkippedRow> skipped;
  bool left_out = false;  // the scores have errors of rows that were left out
};
Document transformer_scores_document(const TransformerScores& scores);

}  // namespace trainyard::report
