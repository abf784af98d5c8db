// How many steps a collective takes and how many bytes its busiest member sends: the numbers that
// the cost models and the real collectives share. docs/communication.md derives them.
#pragma once

#include <cstdint>

namespace trainyard::dist {

// ⌈log2 n⌉; 0 for one member.
constexpr int64_t ceil_log2(int64_t n) {
  int64_t rounds = 0;
  while ((int64_t{1} << rounds) < n) ++rounds;
  return rounds;
}

// The largest power of two that is not above n.
constexpr int64_t floor_power_of_two(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// Steps that follow one another, and the share of the message that the busiest link carries in one
// direction over all of them.
struct CollectivePlan {
  int64_t steps = 0;
  double share = 0;
};

// All-reduce of n members around a ring: reduce-scatter, then all-gather, n-1 steps of 1/n each
// (Patarasuk and Yuan 2009).
constexpr CollectivePlan ring_plan(int64_t n) {
  if (n < 2) return {};
  return {2 * (n - 1), 2.0 * static_cast<double>(n - 1) / static_cast<double>(n)};
}

// One half of it: n-1 steps of 1/n.
constexpr CollectivePlan ring_half_plan(int64_t n) {
  if (n < 2) return {};
  return {n - 1, static_cast<double>(n - 1) / static_cast<double>(n)};
}

// Up a binomial tree and down again with whole messages.
constexpr CollectivePlan tree_plan(int64_t n) {
  const int64_t rounds = ceil_log2(n);
  return {2 * rounds, 2.0 * static_cast<double>(rounds)};
}

// Everyone sends to one member, one after another over its link, and gets the result from it.
constexpr CollectivePlan reduce_broadcast_plan(int64_t n) {
  if (n < 2) return {};
  return {2 * (n - 1), 2.0 * static_cast<double>(n - 1)};
}

// n members of one host sum in shared memory: two meetings; the share is of all bytes through
// memory, as each message is read once and written once.
constexpr CollectivePlan shared_memory_plan(int64_t n) {
  if (n < 2) return {};
  return {2, 2.0 * static_cast<double>(n)};
}

// The part of a hierarchical all-reduce inside a host of n members, in shared memory: three
// meetings; each share is read from all and written to one, then read and written by the others.
constexpr CollectivePlan shared_shares_plan(int64_t n) {
  if (n < 2) return {};
  return {3, 3.0 * static_cast<double>(n) - 1.0};
}

// Reduction to a server that is no member: n messages in, n out.
constexpr CollectivePlan central_plan(int64_t n) {
  if (n < 2) return {};
  return {2 * n, 2.0 * static_cast<double>(n)};
}

// w workers, p servers that hold 1/p of the message each. Push and pull; the busiest link is a
// worker's (the whole message) or a server's (w/p of it).
constexpr CollectivePlan parameter_server_plan(int64_t workers, int64_t servers) {
  const double load = static_cast<double>(workers) / static_cast<double>(servers);
  return {2, 2.0 * (load > 1.0 ? load : 1.0)};
}

}  // namespace trainyard::dist
