// Published speeds of training transformers, one row each (docs/predict-transformers.md has the
// columns).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/transformer/step_time.h"

namespace trainyard::transformer {

struct PublishedRow {
  int line = 0;
  std::string group;       // the source: "vTrain", "Megatron-Bridge, experts"
  std::string stack;       // as published
  std::string round;       // of MLPerf: "3.0"
  std::string model_name;  // as published
  Transformer model;
  Machine machine;
  Mapping mapping;
  Pass pass = Pass::kTraining;
  double step_seconds = 0;

  const FittedStack& stack_of() const {
    return stack_for(stack, model.experts > 0, mapping.zero == 3);
  }
};

// A peak of memory that was published; the allocator's, without the driver.
struct MemoryRow {
  int line = 0;
  std::string group;
  Transformer model;
  Mapping mapping;
  double bytes = 0;
};

// A time to a target that was published, of MLPerf Training. How the training was spread is not
// known.
struct TargetRow {
  int line = 0;
  std::string group;  // "MLPerf, bert-large"
  std::string round;  // "3.0"
  Transformer model;
  Machine machine;
  Mapping wanted;  // workers, batch, sequence, precision, adapters
  double seconds = 0;
};

struct SkippedRow {
  int line = 0;
  std::string group;
  std::string reason;
};

struct PublishedRows {
  std::vector<PublishedRow> rows;
  std::vector<MemoryRow> memory;
  std::vector<TargetRow> targets;
  std::vector<SkippedRow> skipped;
};

// Reads what a row says and assumes the rest as its stack usually has it. A row may tell a speed, a
// memory (column memory_gib) and a time to a target (column minutes_to_target); one from which none
// of them can be read is skipped with the reason. Throws Error if the table lacks a column.
PublishedRows read_published(std::string_view text, const std::string& origin,
                             const predict::Catalog& catalog);
// The rows of the catalog.
PublishedRows catalog_rows(const predict::Catalog& catalog);

}  // namespace trainyard::transformer
