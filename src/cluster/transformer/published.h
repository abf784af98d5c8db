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
  std::string model_name;  // as published
  Transformer model;
  Machine machine;
  Mapping mapping;
  Pass pass = Pass::kTraining;
  double step_seconds = 0;

  std::string size_key() const { return fmt::format("{}x{}", model.layers, model.hidden); }
};

struct SkippedRow {
  int line = 0;
  std::string group;
  std::string reason;
};

struct PublishedRows {
  std::vector<PublishedRow> rows;
  std::vector<SkippedRow> skipped;
};

// Reads what a row says and assumes the rest as its stack usually has it; a row that lacks a figure
// is skipped with the reason. Throws Error if the table lacks a column.
PublishedRows read_published(std::string_view text, const std::string& origin,
                             const predict::Catalog& catalog);

}  // namespace trainyard::transformer
