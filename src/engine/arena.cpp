#include "engine/arena.h"

#include "base/huge_pages.h"

namespace trainyard::runtime {

Tensor make_arena(int64_t bytes) {
  const TensorType type{DType::kU8, Shape{bytes}};
  if (bytes < static_cast<int64_t>(kHugePage)) return Tensor(type);
  std::shared_ptr<void> memory = map_huge_pages(static_cast<size_t>(bytes));
  void* const data = memory.get();
  return {type, std::move(memory), data};
}

}  // namespace trainyard::runtime
