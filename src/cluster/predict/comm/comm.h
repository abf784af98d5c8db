// How long an all-reduce takes on a cluster, for each way of doing it (docs/communication.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::predict {

// One direction of one connection.
struct LinkSpeed {
  double bytes_per_s = 1;
  double latency_s = 0;
};

// `workers` devices, `per_host` of them in each host (the last may have fewer), connected by
// `inside` within a host and by one `between` per host and direction.
struct Topology {
  int64_t workers = 1;
  int64_t per_host = 1;
  LinkSpeed inside;
  LinkSpeed between;
  int64_t servers = 0;  // parameter servers; 0: one per host

  int64_t hosts() const { return (workers + per_host - 1) / per_host; }
  // Devices of a full host.
  int64_t local() const { return workers < per_host ? workers : per_host; }
  bool one_host() const { return workers <= per_host; }
  // The link a message between any two members may have to take.
  const LinkSpeed& widest() const { return one_host() ? inside : between; }
};

struct CommCost {
  double seconds = 0;
  int64_t steps = 0;
  double bytes = 0;  // over the busiest link, one direction

  CommCost& operator+=(const CommCost& other) {
    seconds += other.seconds;
    steps += other.steps;
    bytes += other.bytes;
    return *this;
  }
};

// Bytes of the message per second; what users see.
double algorithm_bandwidth(double message_bytes, const CommCost& cost);
// The same scaled by 2(n-1)/n, so that a perfect all-reduce shows the speed of its links whatever
// n.
double bus_bandwidth(double message_bytes, int64_t workers, const CommCost& cost);
// The shortest time in which these links could carry an all-reduce, as a share of what `cost`
// takes: at most 1.
double utilization(double message_bytes, const Topology& topology, const CommCost& cost);

// One way to do it. `seconds` is never negative; one worker costs nothing.
struct CommModel {
  std::string_view name;
  std::string_view summary;
  CommCost (*cost)(const Topology& topology, double message_bytes);
};

std::span<const CommModel* const> all_comm_models();
// Throws Error with the nearest names.
const CommModel& find_comm_model(std::string_view name);
// The model `auto` stands for on this topology and message: an all-reduce, never servers, which
// somebody has to run. Other models are themselves.
const CommModel& resolve_comm_model(const CommModel& model, const Topology& topology,
                                    double message_bytes);

// `steps` messages that follow each other and `bytes` in all over `link`.
CommCost over_link(const LinkSpeed& link, int64_t steps, double bytes);

}  // namespace trainyard::predict
