#include "ops/routine.h"

#include <cstring>

namespace trainyard::ops {

void copy_elements(Views inputs, Views outputs) {
  const TensorView& x = inputs[0];
  std::memcpy(outputs[0].data, x.data, static_cast<size_t>(x.num_elements() * dtype_size(x.dtype)));
}

}  // namespace trainyard::ops
