// Which dimensions a reduction takes away, shared by inference and kernels.
#pragma once

#include <optional>
#include <vector>

#include "ir/node_view.h"

namespace trainyard::ops {

// By dimension of input 0; no value if the axes are not known before the run.
std::optional<std::vector<bool>> reduced_axes(const NodeView& node);

}  // namespace trainyard::ops
