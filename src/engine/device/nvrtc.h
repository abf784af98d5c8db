// Kernels compiled for NVIDIA's devices, which need not be there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::device {

// "13.0"; empty if NVRTC cannot be opened.
std::string nvrtc_version();
// What it compiles for, as 75 for compute capability 7.5, ascending; empty if it does not tell.
std::vector<int32_t> nvrtc_architectures();

// The PTX of a text for an architecture. Throws Failure: NVRTC is missing, or the text does not
// compile (with the log).
std::string compile_ptx(const std::string& text, int32_t architecture);

}  // namespace trainyard::device
