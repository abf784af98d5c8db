// In which order a convolution without VNNI adds the steps of its depth: two at a time in 16 bits
// where weights allow it, which saves one of four multiplications.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kernels/native/int8/byte_kernels.h"

namespace trainyard::kernels::native {

// The weights of one tap for a block of channels: channel by channel, kDepthStep for each step.
struct TapWeights {
  std::vector<int8_t> weights;
  int64_t channels = 0;
  int64_t steps = 0;
};

struct StepOrder {
  std::vector<int32_t> pairs;  // steps; each and its neighbor fit 16 bits together for any bytes
  std::vector<int32_t> singles;
};

// Of the first `steps` steps of the tap. Any order of exact sums is the same sum.
StepOrder order_steps(const TapWeights& tap, int64_t steps);

}  // namespace trainyard::kernels::native
