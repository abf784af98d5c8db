// What a network that was compiled for a device still leaves to the processors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/executable.h"

namespace trainyard::runtime {

struct HostNodes {
  std::string op;
  std::string reason;  // of the first of them
  int64_t count = 0;
};

// By operator, in the order in which they first run. Empty without a device.
std::vector<HostNodes> nodes_left_to_host(const Executable& executable);

// "3 of 40 nodes run on the processors, with copies from and to torch:cpu: LSTM (2; it has no such
// kernel), …". Empty if there are none.
std::string host_nodes_text(const Executable& executable);

}  // namespace trainyard::runtime
