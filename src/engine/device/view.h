// Devices of this machine, and timings of vector operations on them, as documents.
#pragma once

#include <span>

#include "base/json.h"
#include "engine/device/device_list.h"
#include "engine/device/vector_case.h"
#include "report/document.h"

namespace trainyard::report {

// {devices: [{name, backend, platform, version, compute_units, max_group, memory_bytes,
// shares_host_memory, memory: ["copies", "fine", …], features}], opencl_missing, cuda_missing,
// torch_missing}
Document device_list_document(const device::DeviceList& list);

// {rows: […], limit_gbps}: a row is {device, operation, elements, launch, memory, sharing,
// alloc_ms, first_touch_ms, to_device_ms, first_kernel_ms, kernel_ms, kernel_least_ms, samples_ms,
// from_device_ms, free_ms, total_ms, gbps, share_of_peak, verified, measured, origin,
// measured_elements}. Null: not known.
Json vector_rows_json(std::span<const device::VectorRow> rows, double limit_bytes_per_s);
Document vector_rows_document(std::span<const device::VectorRow> rows, double limit_bytes_per_s);

}  // namespace trainyard::report
