#include "studies/scaling/all_reduce.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "base/text.h"
#include "dist/all_reduce_bench.h"

namespace trainyard::measure {

AllReduceRun measure_all_reduces(dist::Collectives& collectives, const std::vector<int64_t>& sizes,
                                 const std::vector<const dist::AllReduce*>& algorithms,
                                 double seconds) {
  const dist::Communicator& comm = collectives.comm();
  AllReduceRun run{.workers = comm.size(),
                   .per_host = static_cast<int64_t>(comm.host_members().size()),
                   .fabric = dist::measure_fabric(collectives),
                   .samples = {}};
  const auto memory = collectives.allocate(*std::max_element(sizes.begin(), sizes.end()));
  for (const int64_t bytes : sizes) {
    const std::span<float> data(reinterpret_cast<float*>(memory.data()),
                                static_cast<size_t>(bytes) / sizeof(float));
    for (const dist::AllReduce* algorithm : algorithms) {
      const dist::ReduceContext& context = collectives.context();
      if (algorithm->available != nullptr && !algorithm->available(context)) continue;
      const dist::Timing timing = dist::time_all_reduce(collectives, data, *algorithm, seconds);
      const dist::AllReduce& chosen = dist::resolve_all_reduce(*algorithm, context, bytes);
      run.samples.push_back(
          {bytes, std::string(algorithm->name), std::string(chosen.name), timing});
    }
    if (comm.rank() == 0) {
      std::cerr << fmt::format("{} ranks, {}: done\n", run.workers,
                               bytes_text(static_cast<double>(bytes)));
    }
  }
  return run;
}

}  // namespace trainyard::measure
