// The devices of this machine as a table.
#pragma once

#include "engine/device/device_list.h"
#include "report/document.h"

namespace trainyard::report {

// {devices: [{name, backend, platform, version, compute_units, max_group, memory_bytes,
// shares_host_memory, memory: ["copies", "fine", …], features}], opencl_missing, cuda_missing,
// torch_missing}
Document device_list_document(const device::DeviceList& list);

}  // namespace trainyard::report
