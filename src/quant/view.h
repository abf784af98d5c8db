// What `quantize` says.
#pragma once

#include "quant/results.h"
#include "report/document.h"

namespace trainyard::report {

// {float: {top1, bytes, median_ms}, int8: {top1, bytes, median_ms, output_sqnr_db}, layers: […],
// steps: [{what, top1, output_sqnr_db}], bits: […], float_operators, notices, …}. Null: not
// measured.
Document quantize_document(const quant::QuantizeResult& result);

}  // namespace trainyard::report
