// Memory that a process which waits does not need.
#pragma once

#include <cstddef>

namespace trainyard::serve {

// The pages that lie wholly within a block go back to the system; what was in them is lost, and
// they are zero when they are next used.
void forget_pages(void* data, size_t bytes);

// Blocks of the size of tensors stay with the allocator: those of requests come and go, and mapping
// each anew would cost more than copying it.
void keep_large_blocks();

// What this thread has freed goes back to the system nevertheless.
void give_back_freed_memory();

// Gives back what the allocator holds for nobody, and the pages of the program and its libraries
// that were mapped to be read and executed: most of them only loading needed. Those in use come
// back from the page cache one by one.
void forget_what_loading_needed();

}  // namespace trainyard::serve
