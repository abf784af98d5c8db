#include "cli/all_reduce_measurement.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "base/text.h"
#include "dist/all_reduce_bench.h"
#include "report/all_reduce.h"

namespace trainyard::cli {

Json measure_all_reduces(dist::Collectives& collectives, const std::vector<int64_t>& sizes,
                         const std::vector<const dist::AllReduce*>& algorithms, double seconds) {
  const dist::Communicator& comm = collectives.comm();
  const report::AllReduceJob job = {comm.size(), static_cast<int64_t>(comm.host_members().size()),
                                    dist::measure_fabric(collectives)};
  const auto memory = collectives.allocate(*std::max_element(sizes.begin(), sizes.end()));
  Json rows = Json::array();
  for (const int64_t bytes : sizes) {
    const std::span<float> data(reinterpret_cast<float*>(memory.data()),
                                static_cast<size_t>(bytes) / sizeof(float));
    for (const dist::AllReduce* algorithm : algorithms) {
      const dist::ReduceContext& context = collectives.context();
      if (algorithm->available != nullptr && !algorithm->available(context)) continue;
      const dist::Timing timing = dist::time_all_reduce(collectives, data, *algorithm, seconds);
      const dist::AllReduce& stands_for = dist::resolve_all_reduce(*algorithm, context, bytes);
      rows.push_back(report::all_reduce_row(job, bytes, algorithm->name, stands_for.name, timing));
    }
    if (comm.rank() == 0) {
      std::cerr << fmt::format("{} ranks, {}: done\n", job.workers,
                               bytes_text(static_cast<double>(bytes)));
    }
  }
  Json data = Json::object();
  data["rows"] = std::move(rows);
  data["fabrics"].push_back(report::fabric_json(job));
  return data;
}

}  // namespace trainyard::cli
