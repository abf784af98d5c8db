// What the index knows, as the JSON that docs/ui.md describes.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// One line of the table: state, last numbers, the settings that differ.
Json row_of(const std::string& id, const Run& run, const RunIndex& index);
// All rows, or those that have changed after that version, with the ids of what has gone since.
Json rows_since(const RunIndex& index, uint64_t version);
// Everything about a run but its numbers.
Json details_of(const std::string& id, const Run& run);
// Its numbers from that byte of metrics.jsonl on, and where the next ones begin; from the beginning
// where `generation` is not the run's.
Json numbers_from(const Run& run, uint64_t generation, int64_t offset);

}  // namespace trainyard::ui
