// All cases of all operators, by family. A new operator adds its cases to one of these files, or a
// file and a line here and in cases.cpp.
#pragma once

#include <limits>
#include <vector>

#include "support/op_case.h"

namespace trainyard::testing {

inline constexpr DType kU8 = DType::kU8;
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using OpCases = std::vector<OpCase>;

OpCases binary_cases();
OpCases convolution_cases();
OpCases data_movement_cases();
OpCases indexing_cases();
OpCases internal_cases();
OpCases linear_cases();
OpCases loss_cases();
OpCases newer_cases();
OpCases nn_cases();
OpCases normalization_cases();
OpCases optimizer_cases();
OpCases pooling_cases();
OpCases quantization_cases();
OpCases recurrent_cases();
OpCases reduce_cases();
OpCases sampling_cases();
OpCases unary_cases();

OpCases all_cases();

}  // namespace trainyard::testing
