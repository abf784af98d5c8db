// NonMaxSuppression with vectors and threads: the boxes that ops::select_boxes keeps, in its order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/vision/non_max_suppression.h"

namespace trainyard::kernels::native {

// {batch, class, box} of each box kept: by batch, then class, then falling score. Classes are
// spread over the threads of the caller. Needs AVX2 and FMA.
std::vector<std::array<int64_t, 3>> suppress_boxes(const TensorView& boxes,
                                                   const TensorView& scores,
                                                   const ops::SuppressionRules& rules);

}  // namespace trainyard::kernels::native
