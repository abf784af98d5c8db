// One block of memory for all intermediate results: buffers whose lifetimes do not meet share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::runtime {

// Alive from step `first` to step `last`, both included.
struct BufferRequest {
  int64_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one per request, multiples of Tensor::kAlignment
  int64_t total_bytes = 0;
};

// Largest buffers first, each at the lowest place that is free during its life.
MemoryPlan plan_memory(std::span<const BufferRequest> requests);

}  // namespace trainyard::runtime
