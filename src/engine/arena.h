// Memory for the intermediate results of a run.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace trainyard::runtime {

// u8[bytes], uninitialized; in huge pages if it fills one. It is walked through from end to end in
// every run, and each page costs a walk through the page tables: memory of huge pages was read 1.7
// (last cache) to 2.1 times as fast (bench/results/transfer.md).
Tensor make_arena(int64_t bytes);

}  // namespace trainyard::runtime
