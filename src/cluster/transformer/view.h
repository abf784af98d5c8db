// The documents that `trainyard transformer` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/transformer/fit.h"
#include "cluster/transformer/plan.h"
#include "report/document.h"

namespace trainyard::report {

// One question with what was assumed.
struct TransformerQuestion {
  transformer::Transformer model;
  transformer::Machine machine;
  transformer::Mapping mapping;
  const transformer::FittedStack* stack = nullptr;
};

Document transformer_memory_document(const TransformerQuestion& question);
Document transformer_step_document(const TransformerQuestion& question);
Document transformer_plan_document(const TransformerQuestion& question,
                                   const transformer::Plan& plan);
Document transformer_models_document(std::span<const transformer::Transformer> models);
// `left_out`: the scores have errors of rows that were left out.
Document transformer_scores_document(std::span<const transformer::Score> scores,
                                     std::span<const transformer::SkippedRow> skipped,
                                     bool left_out);

}  // namespace trainyard::report
