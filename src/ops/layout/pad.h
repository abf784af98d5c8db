// The pads of a Pad node.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace trainyard::ops {

// Pads given for some axes (all begins, then all ends) as pads of all `rank` of them.
std::vector<int64_t> pads_of_all_axes(const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>& axes, int64_t rank);

// Which of `size` elements stands at `at`, which may lie outside of them, or -1 for the constant.
int64_t padded_source(int64_t at, int64_t size, std::string_view mode);

}  // namespace trainyard::ops
