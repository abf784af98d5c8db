// Long lists of decimal numbers, many at a time.
#pragma once

#include <cstddef>

namespace trainyard {

// Powers of ten that a double holds exactly.
inline constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Reads numbers that each follow a comma (and at most one space) and end before the next comma or
// bracket, as JSON writes them: no exponent, at most 19 digits. `at` stands before the first comma
// and is moved behind the last number that was read; it stops early at anything else, which need
// not be wrong, and within 64 bytes of either end of the text. Returns how many were read, 0 on
// processors without AVX2.
size_t read_number_list(const char* begin, const char*& at, const char* end, float* out,
                        size_t most);

}  // namespace trainyard
