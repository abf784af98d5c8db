// What a graph remembers from one run to the next.
#pragma once

#include "ir/graph.h"

namespace trainyard {

// A value that the next run starts from: `from` is an initializer, `to` what it becomes; kNoValue
// if runs leave it as it is and only the owner of the state replaces it.
struct StateUpdate {
  ValueId from;
  ValueId to;
};

}  // namespace trainyard
