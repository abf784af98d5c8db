// The table of measured all-reduces, with what the cost models say.
#pragma once

#include "base/json.h"
#include "report/document.h"
#include "studies/scaling/all_reduce_run.h"

namespace trainyard::report {

// {rows, fabrics} of one job. A row is {workers, bytes, algorithm, median_ms, least_ms, algbw_gbps,
// busbw_gbps, predicted_ms, bound_ms}; the bandwidths are of the median.
Json all_reduce_json(const measure::AllReduceRun& run);

// `data` is {rows: […], fabrics: […]} of one or more jobs.
Document all_reduce_document(Json data);

}  // namespace trainyard::report
