#include "engine/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "tensor/tensor.h"

namespace trainyard::runtime {
namespace {

int64_t rounded(int64_t bytes) {
  const auto alignment = static_cast<int64_t>(Tensor::kAlignment);
  return (bytes + alignment - 1) / alignment * alignment;
}

bool meet(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferRequest> requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].bytes > requests[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<size_t> placed;  // by ascending offset
  for (const size_t i : order) {
    const int64_t bytes = rounded(requests[i].bytes);
    int64_t offset = 0;
    for (const size_t other : placed) {
      if (!meet(requests[i], requests[other])) continue;
      if (plan.offsets[other] >= offset + bytes) break;
      offset = std::max(offset, plan.offsets[other] + rounded(requests[other].bytes));
    }
    plan.offsets[i] = offset;
    plan.total_bytes = std::max(plan.total_bytes, offset + bytes);
    const auto later =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](int64_t at, size_t other) { return at < plan.offsets[other]; });
    placed.insert(later, i);
  }
  return plan;
}

}  // namespace trainyard::runtime
