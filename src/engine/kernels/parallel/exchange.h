// What a step of a graph asks of the other workers of a job. Training implements it; kernels and
// the runtime know nothing of how workers reach each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainyard::kernels {

// Every worker makes the same calls in the same order. Throws Failure, naming the worker, if one
// does not come.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Memory for everything that is summed by start(): zeroed, as much on every worker. It lives as
  // long as the exchange.
  virtual std::span<std::byte> allocate(int64_t bytes) = 0;
  // Begins to replace `values`, which lie in that memory, by their sums over all workers; nobody
  // may touch them before wait() has returned.
  virtual void start(int64_t bucket, std::span<float> values) = 0;
  virtual void wait(int64_t bucket) = 0;
  // Replaces the values by their sums over all workers.
  virtual void sum(std::span<double> values) = 0;
};

}  // namespace trainyard::kernels
