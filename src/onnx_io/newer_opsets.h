// Files of opsets 18 to 21: most operators are still what opset 17 says.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::onnx_io {

// The newest opset of which files are taken.
inline constexpr int64_t kNewestOpset = 21;
// The one whose meaning graphs have.
inline constexpr int64_t kGraphOpset = 17;

// Whether an operator means something else in `opset` than in 17. Further element types do not
// count: they are refused where they come up.
bool changed_since_17(std::string_view op, int64_t opset);

}  // namespace trainyard::onnx_io
