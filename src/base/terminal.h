// How wide text for people may be.
#pragma once

#include <cstddef>

namespace trainyard {

// Columns of the terminal that `file` is (stdout): those of COLUMNS where it is set, else what the
// terminal says; 0 where it is none, so that there is no limit.
size_t terminal_columns(int file = 1);

}  // namespace trainyard
