// Counts what processors would do to quantized products in silence; tests ask for it.
#pragma once

#include <cstdint>

namespace trainyard::kernels::reference {

// Since the thread began. A pair is two neighboring products of one output, u8 by i8, which
// vpmaddubsw adds in 16 bits; a sum is all of one output with its bias, which kernels keep in 32.
struct SaturationCount {
  int64_t pairs = 0;
  int64_t sums = 0;
};
SaturationCount& saturations();

}  // namespace trainyard::kernels::reference
