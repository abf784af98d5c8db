// Compiled for AVX-512: nothing here may be shared with files that are not, so there are no
// functions but local ones and one that hands them out.
#include "engine/kernels/native/gemm/wide_tile_loops.h"

namespace trainyard::kernels::native {

WideTileFunction wide_tile(int64_t rows, int64_t vectors) {
  return tile_of<Singles>(rows, vectors);
}

}  // namespace trainyard::kernels::native
