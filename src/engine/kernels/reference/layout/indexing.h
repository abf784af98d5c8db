// From flat indices to places in strided memory.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard::kernels::reference {

// Where the element with row-major index `index` of a block of `dims` lies, strides given.
inline int64_t strided_offset(int64_t index, std::span<const int64_t> dims,
                              std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    offset += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return offset;
}

}  // namespace trainyard::kernels::reference
