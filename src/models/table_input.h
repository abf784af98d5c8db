// Networks of tables: rows come as they are written, and the graph itself makes of them what its
// first layer sees. So a file that was trained on a table takes raw rows wherever it runs.
#pragma once

#include <optional>

#include "data/table/table_schema.h"
#include "ir/graph.h"
#include "models/onnx/metadata.h"

namespace trainyard::network {

inline constexpr const char* kRowsInput = "rows";
inline constexpr const char* kNumberOutput = "number";

// Puts the preparation of rows in front of a network whose input is f32[batch, schema.width()]; its
// input is then `rows`, f32[batch, columns], where a category is its place among the values and NaN
// stands for what is missing. A number that is foretold comes out as it is in the table.
void add_table(Graph& graph, const data::TableSchema& schema);

// What the file of a network says of its table; none: it was trained on something else. Throws
// Error for a damaged note.
std::optional<data::TableSchema> table_of(const onnx_io::Metadata& metadata);
void note_table(const data::TableSchema& schema, onnx_io::Metadata& metadata);

}  // namespace trainyard::network
