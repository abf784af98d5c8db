// Reasons for which several kernels refuse a node; `--explain` prints them.
#pragma once

#include <string_view>

namespace trainyard::kernels {

inline constexpr std::string_view kOnlyF32 = "only f32 is implemented";

}  // namespace trainyard::kernels
