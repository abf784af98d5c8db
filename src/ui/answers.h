// What the index knows, as the JSON that docs/ui.md describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// What the machine of the runs costs, in dollars per hour; nothing: nobody said.
using Price = std::optional<double>;

// One line of the table: state, last numbers, the settings that differ.
Json row_of(const std::string& id, const Run& run, const RunIndex& index, const Price& price);
// All rows, or those that have changed after that version, with the ids of what has gone since.
Json rows_since(const RunIndex& index, uint64_t version, const Price& price);
// Everything about a run but its numbers.
Json details_of(const std::string& id, const Run& run);
// Its numbers from that position on, and where the next ones begin; from the beginning where
// `generation` is not the run's. By column: a name stands once, not in each line.
Json numbers_from(const Run& run, uint64_t generation, int64_t position);
// What the machine was busy with, by column: samples of utilization.jsonl.
Json system_series(const Run& run);
// How often each class was taken for each: the last of the run; null where it has none.
Json confusion_of(const Run& run);
// What a network that writes texts wrote after its last epochs, with their steps.
Json samples_of(const Run& run);

}  // namespace trainyard::ui
