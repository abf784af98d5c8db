// The pads of a Pad node.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::ops {

// Pads given for some axes (all begins, then all ends) as pads of all `rank` of them.
std::vector<int64_t> pads_of_all_axes(const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>& axes, int64_t rank);

}  // namespace trainyard::ops
