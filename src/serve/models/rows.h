// Rows of a table as clients send them: a body of text, or cells as BYTES elements.
#pragma once

#include "data/table/table_schema.h"
#include "http/body.h"
#include "serve/models/network.h"
#include "serve/protocol/infer_request.h"

namespace trainyard::serve {

// A body that is no JSON, for a network that was trained on a table: rows of text with or without
// the names of columns. It asks for the best classes, or all outputs. Throws RequestError.
InferRequest read_rows_body(const Body& body, const Network& network);
bool is_rows_body(std::string_view body, const Network& network);

// BYTES elements of a network that was trained on a table become numbers: cells in the order of its
// columns. Throws RequestError.
void encode_cells(const Network& network, InferRequest& request);

}  // namespace trainyard::serve
