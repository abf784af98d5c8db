// Softmax of one row in place.
#pragma once

#include <cstdint>

namespace trainyard::kernels::native {

bool softmax_rows_possible();

// A row of nothing but minus infinity becomes zeros: it may look at nothing. count >= 1.
void softmax_row(float* row, int64_t count);

}  // namespace trainyard::kernels::native
