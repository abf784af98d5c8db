// Many halves at once, by the processor's own conversions.
#pragma once

#include "tensor/tensor.h"

namespace trainyard {

// Elements of f16 to f32 or back; false if the types are others or the processor cannot.
bool cast_halves(const TensorView& from, const TensorView& to);

}  // namespace trainyard
