// Nodes with bodies: what inference and the runtime read of them.
#pragma once

#include <string_view>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

bool is_control_flow(std::string_view op);

// Attributes of an If one branch of which does not fit what it reads, as branches for other inputs
// do: why, for the run that takes it. Its graph is empty then.
inline constexpr std::string_view kThenRefusal = "then_refusal";
inline constexpr std::string_view kElseRefusal = "else_refusal";

// What a Scan node does round by round. Axes are normalized; a direction is 0 (forward) or 1.
struct ScanShape {
  size_t states = 0;
  int64_t length = 0;  // rounds; Shape::kUnknown if known only at run time
  std::vector<int64_t> input_axes, input_directions;
  std::vector<int64_t> output_axes, output_directions;
};
ScanShape scan_shape(const NodeView& node);

}  // namespace trainyard::ops
