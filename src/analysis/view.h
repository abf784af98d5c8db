// The documents that `trainyard analyze` and `trainyard receptive-field` print.
#pragma once

#include <span>
#include <string>

#include "analysis/compare.h"
#include "analysis/layers.h"
#include "analysis/memory.h"
#include "analysis/receptive_field.h"
#include "report/document.h"

namespace trainyard::report {

// Longer names of layers are cut in the middle.
inline constexpr size_t kWidestName = 40;

// `batch` is that of the analyzed graph; it goes into the heading and the data.
Document layers_document(const analysis::LayerTable& table, int64_t batch);
Document kinds_document(const analysis::LayerTable& table, int64_t batch);
Document memory_document(const std::string& model, const analysis::MemoryUse& use, int64_t batch);
Document receptive_field_document(const analysis::FieldTable& table);
Document comparison_document(const analysis::LayerTable& a, const analysis::LayerTable& b,
                             int64_t batch);
Document stack_document(std::span<const analysis::StackField> layers);

}  // namespace trainyard::report
