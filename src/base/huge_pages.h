// Large blocks of memory.
#pragma once

#include <cstddef>
#include <memory>

namespace trainyard {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Zero-filled memory that begins at a huge page and is in such pages where the system has them.
// Advice only: without them it is slower, not wrong. A mapping of its own, which goes back whole:
// in the heap the advice would stay behind, and each small block that comes to lie there would take
// a huge page. Throws std::bad_alloc.
std::shared_ptr<void> map_huge_pages(size_t bytes);

}  // namespace trainyard
