// Long lists of decimal numbers, eight at a time.
#pragma once

#include <cstddef>

namespace trainyard {

// As read_number_list(), with the same conditions on the text around `at`, for processors with
// AVX-512 (F, BW, DQ, VL); returns 0 on others. Stops before the eight numbers among which one is
// of a form that it does not know.
size_t read_number_list_wide(const char*& at, const char* end, float* out, size_t most);

}  // namespace trainyard
