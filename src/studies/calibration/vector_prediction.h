// What a vector operation would take on a device of the catalog.
#pragma once

#include "cluster/predict/device.h"
#include "engine/device/vector_case.h"

namespace trainyard::measure {

// `what.launch` is 1x1, 1x256 or Nx256, `what.memory` copies or unified. Copies go at the nominal
// speed of the link to the host; unified memory moves the same bytes over the same link, page
// by page by faults from Pascal on; their time counts as that of copies. Allocation and first touch
// are not predicted and are 0.
device::VectorRow predict_vector_case(const predict::Device& device,
                                      const device::VectorCase& what);

}  // namespace trainyard::measure
