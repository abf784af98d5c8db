#include "base/huge_pages.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

namespace trainyard {
namespace {

bool is_mapped(void* page, size_t bytes) {
  std::vector<unsigned char> resident(bytes / 4096 + 1);
  return mincore(page, bytes, resident.data()) == 0 || errno != ENOMEM;
}

TEST(HugePages, AreZeroAndAlignedAndGoBackWhole) {
  for (const size_t bytes : {size_t{1}, kHugePage, 3 * kHugePage + 5}) {
    std::shared_ptr<void> block = map_huge_pages(bytes);
    auto* const first = static_cast<char*>(block.get());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kHugePage, 0U);
    EXPECT_EQ(std::count(first, first + bytes, '\0'), static_cast<ptrdiff_t>(bytes));
    std::fill(first, first + bytes, 'x');
    EXPECT_TRUE(is_mapped(first, bytes));
    block.reset();
    EXPECT_FALSE(is_mapped(first, bytes));
  }
}

TEST(HugePages, TooManyAreAnErrorAndNoCrash) {
  EXPECT_THROW(map_huge_pages(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(map_huge_pages(SIZE_MAX / 2), std::bad_alloc);
}

}  // namespace
}  // namespace trainyard
