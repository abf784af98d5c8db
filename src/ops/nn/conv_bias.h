// The gradient of the bias, shared by Conv and ConvTranspose.
#pragma once

#include "ops/gradient.h"

namespace trainyard::ops {

// dy summed over everything but its channels.
ValueId channel_sums(GradContext& grad);

}  // namespace trainyard::ops
