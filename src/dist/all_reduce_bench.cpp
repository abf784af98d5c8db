#include "dist/all_reduce_bench.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stopwatch.h"

namespace trainyard::dist {
namespace {

double slowest(Collectives& collectives, double mine) {
  const std::vector<double> all = collectives.all_gather(mine);
  return *std::max_element(all.begin(), all.end());
}

Timing summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

// Batches are this long at least, so that reading the clock and starting together cost little.
constexpr double kBatchSeconds = 400e-6;
constexpr int64_t kMostPerBatch = 256;
constexpr int64_t kFewestBatches = 5;
constexpr int64_t kMostBatches = 1000;

// Repeats `work` for about `seconds`.
template <typename Work>
Timing time_together(Collectives& collectives, double seconds, Work work) {
  collectives.comm().barrier();
  Stopwatch watch;
  work();
  const double first = std::max(slowest(collectives, watch.seconds()), 1e-9);
  const auto rounded = [](double number) { return static_cast<int64_t>(std::ceil(number)); };
  const int64_t per_batch = std::clamp<int64_t>(rounded(kBatchSeconds / first), 1, kMostPerBatch);
  const int64_t batches = std::clamp<int64_t>(
      rounded(seconds / (first * static_cast<double>(per_batch))), kFewestBatches, kMostBatches);
  std::vector<double> times;
  for (int64_t b = 0; b < batches; ++b) {
    collectives.comm().barrier();
    watch = Stopwatch();
    for (int64_t i = 0; i < per_batch; ++i) work();
    const double mine = watch.seconds() / static_cast<double>(per_batch);
    times.push_back(slowest(collectives, mine));
  }
  return summarize(std::move(times));
}

// Sums of these are exact in float32 for some thousand ranks.
float value_of(int64_t rank, size_t i) {
  return static_cast<float>((rank + 1) * static_cast<int64_t>(i % 7 + 1));
}

void verify(Collectives& collectives, std::span<float> data, const AllReduce& algorithm) {
  const int64_t n = collectives.comm().size();
  const int64_t me = collectives.comm().rank();
  const int64_t ranks = n * (n + 1) / 2;  // 1 + 2 + … + n
  for (size_t i = 0; i < data.size(); ++i) data[i] = value_of(me, i);
  collectives.all_reduce(Elements::of(data), algorithm);
  for (size_t i = 0; i < data.size(); ++i) {
    const auto wanted = static_cast<float>(ranks * static_cast<int64_t>(i % 7 + 1));
    if (data[i] != wanted) {
      throw_failure("rank {}: '{}' of {} elements gives {} at element {}, expected {}", me,
                    algorithm.name, data.size(), data[i], i, wanted);
    }
  }
}

// Well beyond the caches of a host, shared among its ranks.
constexpr int64_t kMemoryBytes = int64_t{256} << 20;
constexpr int64_t kMessageBytes = int64_t{4} << 20;
constexpr double kFabricSeconds = 0.3;

double message_seconds(Collectives& collectives, int64_t count) {
  Communicator& comm = collectives.comm();
  const Group group = Group::world(comm);
  std::vector<float> out(static_cast<size_t>(count));
  std::vector<float> in(static_cast<size_t>(count));
  return time_together(collectives, kFabricSeconds,
                       [&] {
                         group.exchange((group.me() + 1) % group.size(), Elements::of(out),
                                        (group.me() - 1 + group.size()) % group.size(),
                                        Elements::of(in));
                       })
      .least_s;
}

}  // namespace

Fabric measure_fabric(Collectives& collectives) {
  Fabric fabric;
  if (collectives.comm().size() < 2) return fabric;
  const auto members = static_cast<int64_t>(collectives.comm().host_members().size());
  std::vector<float> memory(static_cast<size_t>(kMemoryBytes / members / 4));
  const double pass = time_together(collectives, kFabricSeconds, [&] {
                        for (float& value : memory) value += 1.0F;
                      }).least_s;
  const auto bytes = static_cast<double>(members) * static_cast<double>(memory.size()) * 4;
  fabric.memory_bytes_per_s = 2 * bytes / pass;
  fabric.message_latency_s = message_seconds(collectives, 1);
  fabric.message_bytes_per_s =
      static_cast<double>(kMessageBytes) / message_seconds(collectives, kMessageBytes / 4);
  fabric.meeting_s =
      time_together(collectives, kFabricSeconds, [&] { collectives.meet(); }).least_s;
  return fabric;
}

Timing time_all_reduce(Collectives& collectives, std::span<float> data, const AllReduce& algorithm,
                       double seconds) {
  verify(collectives, data, algorithm);
  // Sums of zeros stay finite, however often they are made.
  std::fill(data.begin(), data.end(), 0.0F);
  return time_together(collectives, seconds,
                       [&] { collectives.all_reduce(Elements::of(data), algorithm); });
}

}  // namespace trainyard::dist
