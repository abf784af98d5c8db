// What `run` and `bench` say about an executable: chosen kernels and where the time goes.
#pragma once

#include "engine/bench.h"
#include "engine/device/device_list.h"
#include "engine/executable.h"
#include "engine/profile.h"
#include "ir/graph.h"
#include "report/document.h"

namespace trainyard::cli {

// --threads: 0 means all cores. Throws Error for a count that makes no sense.
int resolve_threads(int64_t flag);

// --device, for device::open_network_device().
inline constexpr const char* kDeviceHelp =
    "cpu, opencl, cuda, torch (the first device of the kind), or a part of a name of 'device "
    "list': torch:cpu, torch:cuda:0";

// --precision, for kernels::precision_named().
inline constexpr const char* kPrecisionHelp =
    "of products: f32, or bf16 (operands are rounded to 8 bits of mantissa, sums are f32; asks for "
    "AVX512-BF16)";

// --max-iterations. Throws Error for a count below 1.
inline constexpr const char* kIterationsHelp =
    "iterations after which a Loop in the model is an error";
int64_t require_iterations(int64_t flag);

// Says so where the weights were drawn at random, and puts "weights" ("random" or "given") into the
// data.
void add_weights_notice(report::Document& document, const Graph& graph);

// With a device: says what runs on the processors all the same, and puts it into the data
// ("on_processors").
void add_host_nodes(report::Document& document, const runtime::Executable& executable);

// Adds tables to the blocks and "steps" to the data.
void add_explanation(report::Document& document, const runtime::Executable& executable);
// Adds tables by node and by kind, and "profile" to the data.
void add_profile(report::Document& document, const runtime::Executable& executable,
                 const runtime::Profile& profile, const runtime::MachinePeak& peak);

// Adds the nodes that hold most of the time beside what the machine could do, and "roofline" to the
// data.
void add_roofline(report::Document& document, const runtime::Executable& executable,
                  const runtime::Profile& profile, const runtime::MachinePeak& peak);

// Says so where reference kernels took more than 5 % of the time, with their operators, and puts
// "reference_share" into the data.
void add_slow_notice(report::Document& document, const runtime::Executable& executable,
                     const runtime::Profile& profile);

// Seconds that the steps' operations would take at the machine's peak, floats and bytes each at
// theirs.
double seconds_at_peak(const runtime::Executable& executable, const runtime::MachinePeak& peak);

// The peak as measured now; again, up to twice, while the network that took `seconds` would be
// above it, since other programs may have been in the way: the highest counts.
runtime::MachinePeak peak_above(const runtime::Executable& executable, double seconds);
runtime::MachinePeak higher_of(const runtime::MachinePeak& a, const runtime::MachinePeak& b);
// Says why a share of the peak can be more than all of it; empty where it is not.
std::string above_peak_note(double share);

}  // namespace trainyard::cli
