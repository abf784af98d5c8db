// The table of measured all-reduces, with what the cost models say.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "dist/all_reduce_bench.h"
#include "report/table.h"

namespace trainyard::report {

// Where the ranks ran.
struct AllReduceJob {
  int64_t workers = 1;
  int64_t per_host = 1;
  dist::Fabric fabric;
};

// {workers, …} of a job: its fabric.
Json fabric_json(const AllReduceJob& job);

// {workers, bytes, algorithm, median_ms, least_ms, algbw_gbps, busbw_gbps, predicted_ms,
// bound_ms}; the bandwidths are of the median. `models` is the algorithm that `algorithm` stands
// for.
Json all_reduce_row(const AllReduceJob& job, int64_t bytes, std::string_view algorithm,
                    std::string_view models, dist::Timing timing);

// `data` is {rows: […], fabrics: […]} of one or more jobs.
Document all_reduce_document(Json data);

}  // namespace trainyard::report
